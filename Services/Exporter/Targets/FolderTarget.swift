import Formats
import Foundation
import ServiceKit
import Workouts

/// Writes workouts as files, in one folder for each user.
///
/// The files of all formats are on disk under hidden names before the first of them appears, so a full disk leaves the
/// files of the earlier revision as they are. The owner alone can read files and folders.
struct FolderTarget: ExportTarget {
    static let name = Target.folder
    static let policy = ExportPolicy.replace
    /// Enough to keep the cores busy.
    static let concurrency = 8

    let folder: String
    let formats: [ExportFormat]
    private let encode: @Sendable (ExportFormat, ExportedWorkout) -> [UInt8]
    /// Marks this process's hidden files, which are no leftovers.
    private let process = UUID().uuidString.prefix(8)

    init(
        folder: String, formats: [ExportFormat],
        encode: @escaping @Sendable (ExportFormat, ExportedWorkout) -> [UInt8] = { $0.bytes(of: $1) }
    ) {
        self.folder = folder
        self.formats = formats
        self.encode = encode
    }

    init?(_ configuration: ExportConfiguration, _ resources: ExportResources) {
        guard let folder = configuration.folder else { return nil }
        self.init(folder: folder, formats: configuration.formats)
    }

    // MARK: Delivery

    func deliver(_ workout: ExportedWorkout, idempotencyKey: String) async -> Delivery {
        await onFileThread { write(workout) }
    }

    /// Writes the files of a workout in place of all others of its session.
    private func write(_ workout: ExportedWorkout) -> Delivery {
        let key = SessionKey(workout.workout.user, workout.workout.session)
        let files = formats.map { ExportFile(workout.workout, $0) }
        let place = place(of: key.user)
        do throws(DurableFolder.Problem) {
            try place.make()
            try write(files, of: workout, to: place)
            let endings = ExportFormat.allCases.map { ExportFile.ending(key.session, $0) }
            try remove(from: place, of: key.user) { name in
                endings.contains { name.hasSuffix($0) } && !files.contains { $0.name == name }
            }
        } catch {
            // The user reads the reason, so it has no path.
            return .failed("cannot write the files: \(String(cString: strerror(error.code)))")
        }
        return .delivered(files: files.map(\.path))
    }

    private func write(
        _ files: [ExportFile], of workout: ExportedWorkout, to place: DurableFolder
    ) throws(DurableFolder.Problem) {
        var hidden: [(name: String, file: ExportFile)] = []
        do throws(DurableFolder.Problem) {
            for file in files {
                let label = "\(file.key.session)-\(process)"
                hidden.append((try place.writeHidden(encode(file.format, workout), label), file))
            }
            for (name, file) in hidden { try place.rename(name, to: file.name) }
        } catch {
            for (name, _) in hidden { try place.remove(name) }
            throw error
        }
        try place.sync()
    }

    // MARK: Removal

    func remove(_ keys: Set<SessionKey>) async throws {
        try await onFileThread { () throws(DurableFolder.Problem) in
            for user in Set(keys.map(\.user)) {
                try remove(from: place(of: user), of: user) { name in
                    ExportFile("\(user)/\(name)").map { keys.contains($0.key) } ?? false
                }
            }
        }
    }

    /// Removes export files that were written before a date. Other files stay.
    func remove(writtenBefore date: Date) async throws {
        try await onFileThread { () throws(DurableFolder.Problem) in
            for user in try DurableFolder(path: folder).names().compactMap(User.init) {
                try remove(from: place(of: user), of: user) { name in
                    let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(user)/\(name)")
                    return (attributes?[.modificationDate] as? Date).map { $0 < date } ?? false
                }
            }
        }
    }

    /// Removes a user's export files by name. Other files in the folder stay.
    private func remove(
        from place: DurableFolder, of user: User, where isWanted: (String) -> Bool
    ) throws(DurableFolder.Problem) {
        let names = try place.names().filter { isWanted($0) && ExportFile("\(user)/\($0)") != nil }
        for name in names { try place.remove(name) }
        if !names.isEmpty { try place.sync() }
    }

    func removeLeftovers(_ shards: Set<Shard>) async throws {
        try await onFileThread { () throws(DurableFolder.Problem) in
            for user in try DurableFolder(path: folder).names().compactMap(User.init) {
                try place(of: user).removeHidden { label in
                    guard let session = SessionID(String(label.prefix(36))) else { return false }
                    return shards.contains(session.shard) && !label.hasSuffix("-\(process)")
                }
            }
        }
    }

    private func place(of user: User) -> DurableFolder {
        DurableFolder(path: "\(folder)/\(user)")
    }
}

extension Target {
    /// Files in a folder.
    static let folder = Target("folder")!
}
