package import Foundation

/// A folder whose files appear whole or not at all, also after a crash or on a full disk.
package struct DurableFolder: Sendable {
    package struct Problem: Error, CustomStringConvertible {
        package let path: String
        package var code = errno

        package var description: String { "cannot write to \(path): \(String(cString: strerror(code)))" }
    }

    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Creates the folder and its parents, readable by the owner alone; an existing folder is unchanged.
    package func make() throws(Problem) {
        if mkdir(path, 0o700) == 0 { return try parent.sync() }
        switch errno {
        case EEXIST: return
        case ENOENT where parent.path != path: try parent.make()
        default: throw problem
        }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw problem }
        try parent.sync()
    }

    private var parent: DurableFolder {
        DurableFolder(path: URL(filePath: path).deletingLastPathComponent().path)
    }

    /// Writes a file under a hidden name and syncs it.
    ///
    /// - Parameters:
    ///   - label: letters, digits and dashes for `removeHidden`.
    ///   - mode: the permissions of the file.
    ///   - isExact: whether the permissions ignore the process's umask.
    ///   - fill: writes the content. If it throws, no file is left.
    /// - Returns: the hidden name, for `rename` or `remove`.
    package func writeHidden(
        _ label: String, mode: mode_t = 0o600, isExact: Bool = false,
        mayGrow: @escaping @Sendable (Int) -> Bool = { _ in true }, _ fill: (OpenFile) throws -> Void
    ) throws -> String {
        let name = ".\(label).\(UUID()).part"
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw problem }
        let file = OpenFile(descriptor, path: path, mayGrow: mayGrow)
        do {
            guard !isExact || fchmod(descriptor, mode) == 0 else { throw problem }
            try fill(file)
            try file.sync()
        } catch {
            try remove(name)
            throw error
        }
        return name
    }

    /// Renames a file and replaces one of the new name. Durable after `sync`.
    package func rename(_ old: String, to new: String) throws(Problem) {
        guard Foundation.rename("\(path)/\(old)", "\(path)/\(new)") == 0 else { throw problem }
    }

    /// Removes a file if it exists. Durable after `sync`.
    package func remove(_ name: String) throws(Problem) {
        guard unlink("\(path)/\(name)") == 0 || errno == ENOENT else { throw problem }
    }

    /// Syncs the names of files, if the folder exists.
    package func sync() throws(Problem) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw problem
        }
        defer { close(descriptor) }
        // Some network file systems cannot sync folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw problem }
    }

    /// Removes hidden files that a killed process left. No process may be writing files with these labels.
    package func removeHidden(where isWanted: (_ label: String) -> Bool) throws(Problem) {
        for name in try names() {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 4, parts[0].isEmpty, UUID(uuidString: parts[2]) != nil, parts[3] == "part" else {
                continue
            }
            if isWanted(parts[1]) { try remove(name) }
        }
    }

    /// The names of files and folders; none if the folder does not exist.
    package func names() throws(Problem) -> [String] {
        guard let stream = opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw problem
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            withUnsafeBytes(of: entry.pointee.d_name) { name in
                names.append(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names
    }

    /// The problem of the last failed call.
    private var problem: Problem { Problem(path: path) }
}
