import Foundation
package import Workouts

/// The folder of queue files: one for each user, session and device.
package struct QueueFolder: Sendable {
    package let path: String

    private static let suffix = ".jsonl"
    /// How many times in a row the server may lose a workout that its first session still finds; each time takes a device
    /// that is offline for days.
    private static let generations = 16

    package init(path: String) {
        self.path = path
    }

    /// Opens or creates a queue and checks that the same source began it. If the workout is logged under a successor of its
    /// session, this opens the successor's queue.
    package func open(
        _ key: SessionKey, _ device: Device, now: Timestamp, source: QueueHeader.Source, joins: Bool,
        ticket: RunTicket? = nil, isSame: (QueueHeader.Source) -> Bool
    ) throws(QueueError) -> QueueFile {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .failed(path: path, reason: "cannot create the folder")
        }
        let key = latest(key, device)
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: now, source: source,
            joins: joins, ticket: ticket)
        let file = try QueueFile(path: file(key, device), header: header)
        guard file.header.key == key, file.header.device == device, isSame(file.header.source) else {
            throw .foreign(path: file.path)
        }
        try removePredecessor(file.header)
        return file
    }

    /// Moves the contents of a queue to the successor of its session.
    ///
    /// A crash leaves the old queue or the whole new one; ``open`` prefers the new one.
    package func succeed(_ queue: QueueFile) throws(QueueError) -> QueueFile {
        let header = queue.header.successor
        let path = file(header.key, header.device)
        try QueueFile.create(path, header, queue.readContents().entries(replacing: queue.header))
        let next = try QueueFile(path: path, header: header)
        try removePredecessor(header)
        return next
    }

    /// The devices that have a queue in the session or a successor of it.
    package func devices(of key: SessionKey) -> [Device] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let devices = Self.successors(of: key).map(Self.prefix).flatMap { prefix in
            names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(Self.suffix) }
                .compactMap { Device(String($0.dropFirst(prefix.count).dropLast(Self.suffix.count))) }
        }
        return Set(devices).sorted()
    }

    /// The session and the device of a queue for a virtual run.
    package func queue(of user: User, in run: RunID) -> (session: SessionID, device: Device)? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        for name in names.sorted() where name.hasPrefix("\(user).") && name.hasSuffix(Self.suffix) {
            guard let header = QueueFile.header(of: "\(path)/\(name)"), header.ticket?.run == run else { continue }
            return (header.ticket?.session ?? header.session, header.device)
        }
        return nil
    }

    /// The last successor of the session that has a queue, or the session itself.
    private func latest(_ key: SessionKey, _ device: Device) -> SessionKey {
        Self.successors(of: key).last { FileManager.default.fileExists(atPath: file($0, device)) } ?? key
    }

    /// A session, its successor, the successor of that …
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

    /// Names contain no dot.
    private static func prefix(_ key: SessionKey) -> String { "\(key.user).\(key.session)." }
}
