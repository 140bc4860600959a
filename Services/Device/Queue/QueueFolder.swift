import Foundation
import Workouts

/// Where the queue files lie: one for each user, session and device.
struct QueueFolder {
    let path: String

    private static let suffix = ".jsonl"
    /// How often in a row the server may lose a workout that is still found by the session it began with; each takes
    /// a device that is away for days.
    private static let generations = 16

    /// Opens a queue or begins it, and checks that it was begun by the same source. When the workout is logged under another
    /// session by now, it is that one's.
    func open(
        _ key: SessionKey, _ device: Device, now: Timestamp, source: QueueHeader.Source, joins: Bool,
        isSame: (QueueHeader.Source) -> Bool
    ) throws(QueueError) -> QueueFile {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .failed(path: path, reason: "the folder cannot be made")
        }
        let key = latest(key, device)
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: now, source: source,
            joins: joins)
        let file = try QueueFile(path: file(key, device), header: header)
        guard file.header.key == key, file.header.device == device, isSame(file.header.source) else {
            throw .foreign(path: file.path)
        }
        try removePredecessor(file.header)
        return file
    }

    /// Moves what a queue holds to the session that stands in for its own.
    ///
    /// A crash at any moment leaves the old queue or the whole new one, and the new one counts: ``open`` goes on there.
    func succeed(_ queue: QueueFile) throws(QueueError) -> QueueFile {
        let header = queue.header.successor
        let path = file(header.key, header.device)
        try QueueFile.create(path, header, queue.read().entries(standingInFor: queue.header))
        let next = try QueueFile(path: path, header: header)
        try removePredecessor(header)
        return next
    }

    /// The devices that have a queue in the session, or in one that stands in for it.
    func devices(of key: SessionKey) -> [Device] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let devices = Self.successors(of: key).map(Self.prefix).flatMap { prefix in
            names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(Self.suffix) }
                .compactMap { Device(String($0.dropFirst(prefix.count).dropLast(Self.suffix.count))) }
        }
        return Set(devices).sorted()
    }

    /// The session of this name, or the last of those that stand in for it that has a queue.
    private func latest(_ key: SessionKey, _ device: Device) -> SessionKey {
        Self.successors(of: key).last { FileManager.default.fileExists(atPath: file($0, device)) } ?? key
    }

    /// A session, the one that stands in for it, the one that stands in for that …
    private static func successors(of key: SessionKey) -> [SessionKey] {
        Array(sequence(first: key) { SessionKey($0.user, $0.session.successor) }.prefix(generations))
    }

    private func removePredecessor(_ header: QueueHeader) throws(QueueError) {
        guard let session = header.notSynced else { return }
        try QueueFile.removeReplaced(file(SessionKey(header.user, session), header.device))
    }

    private func file(_ key: SessionKey, _ device: Device) -> String {
        "\(path)/\(Self.prefix(key))\(device)\(Self.suffix)"
    }

    /// None of the names can hold a dot.
    private static func prefix(_ key: SessionKey) -> String { "\(key.user).\(key.session)." }
}
