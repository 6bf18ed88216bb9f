//! What the machine, or the container the program runs in, has to give: cores, memory, open files.

use std::fs;
use std::path::{Path, PathBuf};

/// Cores the process may use: the smaller of physical cores and what affinity and the cgroup's quota allow.
pub fn cores() -> u32 {
    let allowed = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    physical_cores(Path::new("/sys/devices/system/cpu")).map_or(allowed, |physical| allowed.min(physical)).max(1)
}

/// Distinct sets of sibling threads, one a physical core.
fn physical_cores(root: &Path) -> Option<u32> {
    let mut siblings = std::collections::BTreeSet::new();
    for entry in fs::read_dir(root).ok()?.flatten() {
        let name = entry.file_name();
        let is_cpu = name.to_str().and_then(|n| n.strip_prefix("cpu")).is_some_and(|n| n.parse::<u32>().is_ok());
        if !is_cpu {
            continue;
        }
        if let Ok(list) = fs::read_to_string(entry.path().join("topology/core_cpus_list")) {
            siblings.insert(list.trim().to_owned());
        }
    }
    (!siblings.is_empty()).then_some(siblings.len() as u32)
}

/// A bound on memory and who sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Bytes.
    pub bytes: u64,
    /// `cgroup`, `ulimit -v` or `physical memory`.
    pub from: &'static str,
}

/// The smallest bound on memory that holds for this process, if any can be found.
pub fn memory_limit() -> Option<MemoryLimit> {
    [
        cgroup_memory(Path::new("/sys/fs/cgroup"), &fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
            .map(|bytes| MemoryLimit { bytes, from: "cgroup" }),
        address_space().map(|bytes| MemoryLimit { bytes, from: "ulimit -v" }),
        physical_memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default())
            .map(|bytes| MemoryLimit { bytes, from: "physical memory" }),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|limit| limit.bytes)
}

/// The smallest `memory.max` from the process's own group up to the root (version 2), or the limit of version 1.
fn cgroup_memory(root: &Path, own: &str) -> Option<u64> {
    let mut smallest: Option<u64> = None;
    let mut take = |path: PathBuf| {
        if let Some(bytes) = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok()) {
            // Version 1 says "no limit" by a number near 2^63.
            if bytes < 1 << 60 {
                smallest = Some(smallest.map_or(bytes, |before| before.min(bytes)));
            }
        }
    };
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let group = group.trim_start_matches('/');
        if controllers.is_empty() {
            for ancestor in Path::new(group).ancestors() {
                take(root.join(ancestor).join("memory.max"));
            }
        } else if controllers.split(',').any(|name| name == "memory") {
            take(root.join("memory").join(group).join("memory.limit_in_bytes"));
            take(root.join("memory/memory.limit_in_bytes"));
        }
    }
    smallest
}

#[cfg(unix)]
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
fn address_space() -> Option<u64> {
    None
}

fn physical_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// How many files the process may have open at once, if there is a bound.
#[cfg(unix)]
pub fn open_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// How many files the process may have open at once, if there is a bound.
#[cfg(not(unix))]
pub fn open_files() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
    }

    /// R139, R143: the limit of the container counts, also one set on a group above.
    #[test]
    fn the_smallest_limit_of_all_groups_above_counts() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("a/b/memory.max"), "max\n");
        write(dir.path().join("a/memory.max"), "2147483648\n");
        write(dir.path().join("memory.max"), "4294967296\n");
        assert_eq!(cgroup_memory(dir.path(), "0::/a/b\n"), Some(2 << 30));
        assert_eq!(cgroup_memory(dir.path(), "0::/none\n"), Some(4 << 30));
        write(dir.path().join("memory/c/memory.limit_in_bytes"), "1073741824");
        write(dir.path().join("memory/memory.limit_in_bytes"), "9223372036854771712");
        assert_eq!(cgroup_memory(dir.path(), "3:cpu,memory:/c\n"), Some(1 << 30));
    }

    #[test]
    fn memory_of_the_machine_is_read() {
        assert_eq!(physical_memory("MemFree: 1 kB\nMemTotal:       2048 kB\n"), Some(2 << 20));
        assert_eq!(physical_memory("nothing"), None);
        assert!(cores() >= 1);
    }

    #[test]
    fn siblings_share_a_physical_core() {
        let dir = tempfile::tempdir().unwrap();
        for (cpu, list) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            write(dir.path().join(format!("cpu{cpu}/topology/core_cpus_list")), list);
        }
        fs::create_dir_all(dir.path().join("cpufreq")).unwrap();
        assert_eq!(physical_cores(dir.path()), Some(2));
    }
}
