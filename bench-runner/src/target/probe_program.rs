//! What can be run in a container `FROM scratch` when no image can be pulled? Programs of a few instructions.
//!
//! Nothing else on a machine can be relied on to be static, so each is written here as machine code: an ELF
//! header, one segment, the code, and the text after it.

/// What [`says_its_text`] writes.
pub(crate) const PROBE_TEXT: &str = "container probe answered\n";

/// A static Linux program that writes [`PROBE_TEXT`] and ends.
pub(crate) fn says_its_text() -> Option<Vec<u8>> {
    let length = u8::try_from(PROBE_TEXT.len()).ok()?;
    let code = match std::env::consts::ARCH {
        "x86_64" => {
            let mut code = vec![0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0]; // mov eax, write; mov edi, stdout
            code.extend([0x48, 0x8d, 0x35, 16, 0, 0, 0]); // lea rsi, [rip + 16]: the text after the code
            code.extend([0xba, length, 0, 0, 0, 0x0f, 0x05]); // mov edx, length; syscall
            code.extend([0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05]); // mov eax, exit; xor edi, edi; syscall
            code
        }
        "aarch64" => words(&[
            0xd280_0020,                            // mov x0, stdout
            0x1000_00e1,                            // adr x1, the text 28 bytes on
            0xd280_0002 | (u32::from(length) << 5), // mov x2, length
            0xd280_0808,                            // mov x8, write
            0xd400_0001,                            // svc 0
            0xd280_0000,                            // mov x0, 0
            0xd280_0ba8,                            // mov x8, exit
            0xd400_0001,                            // svc 0
        ]),
        _ => return None,
    };
    elf(code, PROBE_TEXT)
}

/// A static Linux program that asks for an io_uring with arguments that cannot be, and ends with the error's
/// number: 14 (EFAULT) where io_uring is there, 38 (ENOSYS) or 1 (EPERM) where it is not to be had.
#[cfg(test)]
pub(crate) fn asks_for_io_uring() -> Option<Vec<u8>> {
    let code = match std::env::consts::ARCH {
        "x86_64" => {
            let mut code = vec![0xb8, 0xa9, 1, 0, 0]; // mov eax, io_uring_setup
            code.extend([0x31, 0xff, 0x31, 0xf6, 0x0f, 0x05]); // xor edi, edi; xor esi, esi; syscall
            code.extend([0xf7, 0xd8, 0x89, 0xc7]); // neg eax; mov edi, eax
            code.extend([0xb8, 60, 0, 0, 0, 0x0f, 0x05]); // mov eax, exit; syscall
            code
        }
        "aarch64" => words(&[
            0xd280_0000, // mov x0, 0
            0xd280_0001, // mov x1, 0
            0xd280_3528, // mov x8, io_uring_setup
            0xd400_0001, // svc 0
            0xcb00_03e0, // neg x0, x0
            0xd280_0ba8, // mov x8, exit
            0xd400_0001, // svc 0
        ]),
        _ => return None,
    };
    elf(code, "")
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn elf(code: Vec<u8>, text: &str) -> Option<Vec<u8>> {
    const HEADERS: u64 = 64 + 56;
    const BASE: u64 = 0x40_0000;
    let machine: u16 = match std::env::consts::ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        _ => return None,
    };
    let size = HEADERS + code.len() as u64 + text.len() as u64;
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    elf.extend(2u16.to_le_bytes());
    elf.extend(machine.to_le_bytes());
    elf.extend(1u32.to_le_bytes());
    elf.extend([BASE + HEADERS, 64, 0].map(u64::to_le_bytes).concat());
    elf.extend(0u32.to_le_bytes());
    elf.extend([64u16, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
    elf.extend([1u32, 5].map(u32::to_le_bytes).concat()); // loaded, readable and executable
    elf.extend([0, BASE, BASE, size, size, 4096].map(u64::to_le_bytes).concat());
    elf.extend(code);
    elf.extend(text.as_bytes());
    Some(elf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::command::{run, write_executable};
    use crate::target::digest::is_static;
    use std::time::Duration;

    fn ran(program: &[u8]) -> crate::target::command::Finished {
        assert!(is_static(program));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("probe");
        write_executable(&path, program).unwrap();
        run(&path.display().to_string(), &[], Duration::from_secs(30)).unwrap()
    }

    #[test]
    fn the_probe_program_is_static_and_says_its_text() {
        let done = ran(&says_its_text().unwrap());
        assert!(done.success);
        assert_eq!(done.stdout, PROBE_TEXT);
    }

    #[test]
    fn the_io_uring_program_ends_with_the_errors_number() {
        let code = ran(&asks_for_io_uring().unwrap()).code.unwrap();
        assert!([1, 14, 38].contains(&code), "{code}");
    }
}
