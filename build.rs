//! Tells the crate which of its modules are folders (`a/mod.rs`), so that `townhall routes` can name the
//! source file of a handler by the path of its module.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let mut folders = Vec::new();
    find_folders(Path::new("src"), "", &mut folders)?;
    folders.sort();
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=FOLDER_MODULES={}", folders.join(" "));
    Ok(())
}

fn find_folders(directory: &Path, module: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            find_folders(&entry.path(), &format!("{module}{name}::"), found)?;
        } else if name == "mod.rs" {
            found.push(module.trim_end_matches("::").to_owned());
        }
    }
    Ok(())
}
