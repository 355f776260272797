//! Bytes of what has been recorded.

use tapewright::tape::MemoryReport;

/// Bytes in all streams that grow with the recording, adjoints aside.
pub(crate) fn recorded(report: &MemoryReport) -> usize {
    report.total().used - report.usage("adjoints").used - report.usage("tables").used
}
