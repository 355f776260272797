//! Tests in which a lot is recorded; see `tests/`.
