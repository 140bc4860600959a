import Client
import Formats
import Foundation
import ServiceKit
import Storage
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
    private let encode: @Sendable (ExportFormat, ExportedWorkout, OpenFile) throws -> Void

    init(
        folder: String, formats: [ExportFormat],
        encode: @escaping @Sendable (ExportFormat, ExportedWorkout, OpenFile) throws -> Void = {
            try $0.write($1, to: $2)
        }
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

    /// Files under hidden names, and what else the user's folder has of the session.
    private struct Draft {
        let place: DurableFolder
        let files: [(hidden: String, file: ExportFile)]
        /// The names of the session's files that these do not replace.
        let outdated: [String]
    }

    func deliver(
        _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
    ) async -> Delivery {
        do {
            let draft = try await onFileThread { try write(workout, fence.epoch, allowance) }
            if let refusal = await fence.refusal() {
                try await onFileThread { try discard(draft) }
                return refusal
            }
            try await onFileThread { try publish(draft) }
            return .delivered(files: draft.files.map(\.file.path))
        } catch let problem as DurableFolder.Problem {
            // The user reads the reason, so it has no path.
            return .failed("cannot write the files: \(String(cString: strerror(problem.code)))")
        } catch {
            return .corrupt
        }
    }

    /// Writes hidden files, then removes those of earlier owners.
    ///
    /// A process may be frozen between the fence check and a rename. Its later rename fails, because the next owner has removed
    /// the hidden file before its own fence check. What it removes later was there before its fence check.
    private func write(_ workout: ExportedWorkout, _ epoch: Epoch, _ allowance: ByteAllowance) throws -> Draft {
        let key = SessionKey(workout.workout.user, workout.workout.session)
        let place = place(of: key.user)
        try place.make()
        var written: [(hidden: String, file: ExportFile)] = []
        do {
            for file in formats.map({ ExportFile(workout.workout, $0) }) {
                let label = HiddenLabel(key.session, epoch).text
                let hidden = try place.writeHidden(label, mayGrow: allowance.spend) {
                    try encode(file.format, workout, $0)
                }
                written.append((hidden, file))
            }
            try place.removeHidden { text in
                guard let label = HiddenLabel(text) else { return false }
                return label.session == key.session && label.isOlder(than: epoch)
            }
            let endings = ExportFormat.allCases.map { ExportFile.ending(key.session, $0) }
            let outdated = try place.names().filter { name in
                endings.contains { name.hasSuffix($0) } && ExportFile("\(key.user)/\(name)") != nil
                    && !written.contains { $0.file.name == name }
            }
            return Draft(place: place, files: written, outdated: outdated)
        } catch {
            for (hidden, _) in written { try place.remove(hidden) }
            throw error
        }
    }

    private func publish(_ draft: Draft) throws(DurableFolder.Problem) {
        do throws(DurableFolder.Problem) {
            for (hidden, file) in draft.files { try draft.place.rename(hidden, to: file.name) }
        } catch {
            try discard(draft)
            throw error
        }
        try draft.place.sync()
        guard !draft.outdated.isEmpty else { return }
        for name in draft.outdated { try draft.place.remove(name) }
        try draft.place.sync()
    }

    private func discard(_ draft: Draft) throws(DurableFolder.Problem) {
        for (hidden, _) in draft.files { try draft.place.remove(hidden) }
    }

    // MARK: Removal

    func remove(_ keys: Set<SessionKey>) async throws {
        let sessions = Set(keys.map(\.session))
        try await onFileThread { () throws(DurableFolder.Problem) in
            for user in Set(keys.map(\.user)) {
                // First those of deliveries in progress, which then fail.
                try place(of: user).removeHidden { HiddenLabel($0).map { sessions.contains($0.session) } ?? false }
                try remove(from: place(of: user), of: user) { name in
                    ExportFile("\(user)/\(name)").map { keys.contains($0.key) } ?? false
                }
            }
        }
    }

    /// Removes export files that were written before a date. Other files stay.
    func remove(writtenBefore date: Date) async throws {
        try await onFileThread { () throws(DurableFolder.Problem) in
            for user in try DurableFolder(path: folder).names().compactMap({ User($0) }) {
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

    func removeLeftovers(_ epochs: [Shard: Epoch]) async throws {
        try await onFileThread { () throws(DurableFolder.Problem) in
            for user in try DurableFolder(path: folder).names().compactMap({ User($0) }) {
                try place(of: user).removeHidden { text in
                    guard let label = HiddenLabel(text), let epoch = epochs[label.session.shard] else { return false }
                    return label.isOlder(than: epoch)
                }
            }
        }
    }

    private func place(of user: User) -> DurableFolder {
        DurableFolder(path: "\(folder)/\(user)")
    }
}

/// The label of a hidden file: its session, and the epoch of its owner.
private struct HiddenLabel {
    private static let separator = "-epoch-"

    let session: SessionID
    private let epoch: Epoch

    init(_ session: SessionID, _ epoch: Epoch) {
        (self.session, self.epoch) = (session, epoch)
    }

    init?(_ text: String) {
        let rest = text.dropFirst(36)
        guard let session = SessionID(String(text.prefix(36))), rest.hasPrefix(Self.separator),
            let number = Int64(rest.dropFirst(Self.separator.count))
        else { return nil }
        self.init(session, Epoch(number))
    }

    var text: String { "\(session)\(Self.separator)\(epoch.number)" }

    func isOlder(than other: Epoch) -> Bool { epoch < other }
}

extension Target {
    /// Files in a folder.
    static let folder = Target("folder")!
}
