import Foundation

/// A small file system in memory.
package struct SmallDisk {
    package let path: String

    /// `nil` if mounting is not permitted.
    package init?(_ folder: TemporaryFolder, megabytes: Int) {
        path = folder.file("disk")
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            return nil
        }
        guard geteuid() == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else { return nil }
    }

    /// Fills the disk to the last byte.
    package func fill() throws {
        try Data().write(to: URL(filePath: path + "/filler"))
        let filler = try FileHandle(forWritingTo: URL(filePath: path + "/filler"))
        for size in [65_536, 4_096, 1] {
            while (try? filler.write(contentsOf: Data(count: size))) != nil {}
        }
        try filler.close()
    }

    package func makeRoom() throws {
        try FileManager.default.removeItem(atPath: path + "/filler")
    }

    package func unmount() {
        // The store may still have open files; the disk disappears when they close.
        umount2(path, Int32(MNT_DETACH))
    }
}
