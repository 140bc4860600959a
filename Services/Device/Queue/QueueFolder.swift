import Foundation
import Workouts

/// Where the queue files lie: one for each user, session and device.
struct QueueFolder {
    let path: String

    private static let suffix = ".jsonl"

    /// Opens a queue or begins it, and checks that it was begun by the same source.
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
        let header = QueueHeader(
            user: key.user, session: key.session, device: device, beganAt: now, source: source,
            joins: joins)
        let file = try QueueFile(path: file(key, device), header: header)
        guard file.header.key == key, file.header.device == device, isSame(file.header.source) else {
            throw .foreign(path: file.path)
        }
        return file
    }

    /// The devices that have a queue in the session.
    func devices(of key: SessionKey) -> [Device] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let prefix = Self.prefix(key)
        return names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(Self.suffix) }
            .compactMap { Device(String($0.dropFirst(prefix.count).dropLast(Self.suffix.count))) }
            .sorted()
    }

    private func file(_ key: SessionKey, _ device: Device) -> String {
        "\(path)/\(Self.prefix(key))\(device)\(Self.suffix)"
    }

    /// None of the names can hold a dot.
    private static func prefix(_ key: SessionKey) -> String { "\(key.user).\(key.session)." }
}
