//! Dialects of C, and the words in which they differ.

use crate::kernel::memory::device::Precision;

/// A language that kernels are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// C11 with its library, for the processor: functions with loops over the work items.
    C,
    /// OpenCL C 1.2: kernels over work items in three dimensions. Divisions and square roots of doubles are rounded
    /// correctly; those of floats are if the program is built with `-cl-fp32-correctly-rounded-divide-sqrt`.
    OpenCl,
    /// CUDA C++ for `nvcc` or NVRTC, without headers: kernels over threads in three dimensions. Needs `--fmad=false`.
    Cuda,
}

impl Precision {
    /// Name of the type.
    pub(in crate::kernel) const fn name(self) -> &'static str {
        match self {
            Self::Single => "float",
            Self::Double => "double",
        }
    }

    /// Returns the bytes of a number of the type, in which it is exact, at the start of a word.
    pub(in crate::kernel) fn word(self, number: f64) -> u64 {
        match self {
            Self::Double => number.to_bits(),
            Self::Single => {
                let mut word = [0; 8];
                #[allow(clippy::cast_possible_truncation, reason = "it is a number of this type")]
                word[..4].copy_from_slice(&(number as f32).to_ne_bytes());
                u64::from_ne_bytes(word)
            }
        }
    }

    /// Returns words with the bytes of an argument of a kernel: these, and numbers of the type behind them.
    pub(super) fn words(self, mut bytes: Vec<u8>, numbers: impl Iterator<Item = f64>) -> Vec<u64> {
        numbers.for_each(|number| bytes.extend(&self.word(number).to_ne_bytes()[..self.bytes()]));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }

    /// Formats a value as a literal of the type, rounded once.
    pub(super) fn literal(self, number: f64) -> String {
        match self {
            _ if number.is_nan() => String::from("TW_NAN"),
            _ if number == f64::INFINITY => String::from("TW_INFINITY"),
            _ if number == f64::NEG_INFINITY => String::from("-TW_INFINITY"),
            Self::Double => format!("{number:?}"),
            #[allow(clippy::cast_possible_truncation, reason = "literals are rounded to the type of the numbers")]
            Self::Single => match number as f32 {
                rounded if rounded.is_infinite() => self.literal(f64::from(rounded)),
                rounded => format!("{rounded:?}f"),
            },
        }
    }

    /// Returns C source with its floating literals, which are written as doubles, in this type.
    pub(super) fn typed(self, source: &str) -> String {
        if self == Self::Double {
            return source.to_owned();
        }
        let (mut text, mut rest) = (String::with_capacity(source.len()), source);
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let is_name = rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let length = literal_length(&rest[at..]);
            let (before, number) = (&rest[..at], &rest[at..at + length]);
            text += before;
            match number.parse::<f64>() {
                Ok(value) if !is_name && number.contains(['.', 'e']) => text += &self.literal(value),
                _ => text += number,
            }
            rest = &rest[at + length..];
        }
        text + rest
    }
}

/// Number of bytes of the number at the start of this source.
fn literal_length(source: &str) -> usize {
    let (mut length, bytes) = (0, source.as_bytes());
    while let Some(byte) = bytes.get(length) {
        let signed =
            matches!(byte, b'+' | b'-') && length > 0 && bytes[length - 1] == b'e' && !source.starts_with("0x");
        if !(byte.is_ascii_alphanumeric() || *byte == b'.' || signed) {
            break;
        }
        length += 1;
    }
    length
}

impl Dialect {
    /// Line in front of a source with numbers of this type.
    pub(in crate::kernel) const fn extension(self, precision: Precision) -> &'static str {
        match (self, precision) {
            (Self::OpenCl, Precision::Double) => "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
            _ => "",
        }
    }

    /// Words in front of a function that kernels call.
    pub(super) const fn helper(self) -> &'static str {
        match self {
            Self::C | Self::OpenCl => "static inline",
            Self::Cuda => "static __device__ inline",
        }
    }

    /// Words in front of a kernel.
    pub(in crate::kernel) const fn kernel(self) -> &'static str {
        match self {
            Self::C => "void",
            Self::OpenCl => "__kernel void",
            Self::Cuda => "extern \"C\" __global__ void",
        }
    }

    /// Words in front of a pointer to an array.
    pub(in crate::kernel) const fn space(self) -> &'static str {
        match self {
            Self::C | Self::Cuda => "",
            Self::OpenCl => "__global ",
        }
    }

    /// Integer type with 64 bits.
    pub(in crate::kernel) const fn index(self) -> &'static str {
        match self {
            Self::C | Self::Cuda => "long long",
            Self::OpenCl => "long",
        }
    }

    /// Formats the loops or the test in front of the block for a work item, whose indices are `id0` to `id2`: loops
    /// over all work items in C; in OpenCL a test, since there may be more work items than are needed. CUDA limits the
    /// number of groups along the second and third dimension, so there a thread goes on where the groups end.
    pub(super) fn each_item(self) -> String {
        let of_dimension = |(d, c): (usize, char)| match self {
            Self::C => format!("    for (tw_index id{d} = 0; id{d} < a.items[{d}]; id{d}++)\n"),
            Self::OpenCl => String::new(),
            Self::Cuda => format!(
                "    for (tw_index id{d} = (tw_index)blockIdx.{c} * blockDim.{c} + threadIdx.{c}; id{d} < a.items[{d}]; \
                 id{d} += (tw_index)gridDim.{c} * blockDim.{c})\n"
            ),
        };
        let loops = [(2, 'z'), (1, 'y'), (0, 'x')].map(of_dimension).concat();
        if self == Self::OpenCl { format!("    if ({IN_ITEMS})\n") } else { loops }
    }

    /// Formats the definitions of the indices of a work item, unless they are those of loops.
    pub(super) fn indices(self) -> String {
        let index = |d: usize| format!("    const tw_index id{d} = get_global_id({d});\n");
        if self == Self::OpenCl { [2, 1, 0].map(index).concat() } else { String::new() }
    }
}

/// Test of a work item.
pub(super) const IN_ITEMS: &str = "id0 < a.items[0] && id1 < a.items[1] && id2 < a.items[2]";

#[cfg(test)]
mod tests {
    use super::Precision;

    #[test]
    fn literals_are_rounded_once_and_names_and_integers_stay() {
        let typed = |source: &str| Precision::Single.typed(source);
        assert_eq!(typed("x0 * 0.1 + 2.0e-3"), "x0 * 0.1f + 0.002f");
        assert_eq!(typed("t12[4096] + 1e18 - 16"), "t12[4096] + 1e18f - 16");
        assert_eq!(typed("1.0e300"), "TW_INFINITY");
        assert_eq!(Precision::Single.literal(0.1), "0.1f");
        assert_eq!(Precision::Double.literal(-0.0), "-0.0");
        assert_eq!(Precision::Double.typed("0.1 * x"), "0.1 * x");
    }

    #[test]
    fn numbers_of_arguments_follow_the_bytes_before_them_in_their_type() {
        let bytes = |words: Vec<u64>| words.into_iter().flat_map(u64::to_ne_bytes).collect::<Vec<_>>();
        let single = [&[7; 4][..], &1.5_f32.to_ne_bytes(), &f32::NEG_INFINITY.to_ne_bytes(), &[0; 4]].concat();
        let numbers = [1.5, f64::NEG_INFINITY].into_iter();
        assert_eq!(bytes(Precision::Single.words(vec![7; 4], numbers.clone())), single);
        let double = [&[7; 8][..], &1.5_f64.to_ne_bytes(), &f64::NEG_INFINITY.to_ne_bytes()].concat();
        assert_eq!(bytes(Precision::Double.words(vec![7; 8], numbers)), double);
        assert!(Precision::Single.words(Vec::new(), [].into_iter()).is_empty());
    }
}
