import Bus
import Foundation
import MQTT
import Testing
import Workouts

@testable import Exporter

/// A machine with a disk, a bus and a folder of the test's own, its actions carried out as the service does.
struct MachineRun {
    private(set) var machine = ExporterMachine()
    var now = Timestamp(seconds: 1_800_000_000)
    /// Records by session, as they are stored.
    private(set) var disk: [SessionKey: [UInt8]] = [:]
    /// Statuses that stand retained.
    private(set) var retained: [SessionKey: [Target: ExportStatus]] = [:]
    /// Everything that was published of statuses, in its order.
    private(set) var published: [ExportStatus] = []
    /// Topics that were cleared.
    private(set) var cleared: [String] = []
    private(set) var replies: [Reply] = []
    /// What stands in the folder; the test writes, the machine has things removed.
    var folder: Set<String> = []

    /// What of an event's actions is still done before the process is killed; `nil` while it lives.
    private var fate: Fate?

    enum Fate: CaseIterable {
        case beforeCommit, afterCommit
    }

    static let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)

    /// A finished workout: an hour, paused once for a minute.
    static func workout(
        _ revision: Int64, of key: SessionKey = key, mode: Mode = .phone, isIncomplete: Bool = false
    ) -> WorkoutRecord {
        let start = Timestamp(seconds: 1_799_990_000)
        var session = Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start)
        do {
            try session.apply(.pause, at: start + 600)
            try session.apply(.resume, at: start + 660)
            try session.apply(.end(streams: [:]), at: start + 3600)
        } catch {
            Issue.record("\(error)")
        }
        var record = WorkoutRecord(session, metrics: nil, isComplete: !isIncomplete, revision: revision)
        record.mode = mode
        record.summaries = ["metrics": revision]
        return record
    }

    // MARK: What happens

    mutating func receive(_ workout: WorkoutRecord, targets: [Target] = [.folder, .upload], files: [String] = []) {
        let key = SessionKey(workout.user, workout.session)
        hear(key)
        perform(machine.receive(workout, targets: targets, files: files, now: now))
    }

    mutating func begin(room: Int = 4, uploads: Int? = nil) -> [ExportWork] {
        let begun = machine.begin(now: now, room: [.folder: room, .upload: uploads ?? room])
        perform(begun.actions)
        return begun.works
    }

    mutating func end(_ work: ExportWork, _ target: Target, _ delivery: Delivery) {
        guard let destination = work.destinations.first(where: { $0.target == target }) else {
            Issue.record("it does not go to \(target)")
            return
        }
        perform(machine.receive(delivery, for: target, of: work.key, begun: destination.begun, now: now))
    }

    /// Ends a work for all its destinations.
    mutating func end(_ work: ExportWork, _ delivery: Delivery) {
        for destination in work.destinations { end(work, destination.target, delivery) }
    }

    @discardableResult
    mutating func request(
        _ target: Target?, id: CommandID = CommandID(UUID()), of key: SessionKey = key,
        targets: [Target] = [.folder, .upload]
    ) -> Reply? {
        hear(key)
        let request = SessionRequest(id: id, client: Client("tests")!, action: .export(target))
        perform(machine.receive(request, of: key, targets: targets, now: now))
        return replies.last { $0.id == id }
    }

    @discardableResult
    mutating func result(
        _ workout: Int64, _ error: Refusal? = nil, id: CommandID = CommandID(UUID()), of key: SessionKey = key,
        target: Target = .healthKit
    ) -> Reply? {
        hear(key)
        let result = ExportResult(id: id, client: Client("tests")!, workout: workout, error: error)
        perform(machine.receive(result, of: key, target: target, now: now))
        return replies.last { $0.id == id }
    }

    mutating func delete(_ key: SessionKey = key) {
        hear(key)
        perform(machine.delete(key))
    }

    /// What stands retained comes to the service.
    mutating func see(_ revision: Int64, of key: SessionKey = key, _ target: Target) {
        perform(machine.see(revision, of: key, target: target, now: now))
    }

    mutating func pass(_ seconds: Double = 0) {
        now = now + seconds
        perform(machine.advance(to: now))
    }

    mutating func connect() { perform(machine.connected()) }

    /// The process is killed and another starts on the same disk.
    mutating func crash() {
        machine = ExporterMachine()
        for (key, bytes) in disk.sorted(by: { $0.key < $1.key }) {
            guard let record = decode(bytes), !record.isAtRest(now) else { continue }
            perform(machine.load(record, of: key, now: now))
        }
        connect()
    }

    /// The process is killed over what the test lets happen.
    mutating func die(_ fate: Fate, over event: (inout MachineRun) -> Void) {
        self.fate = fate
        event(&self)
        self.fate = nil
        crash()
    }

    // MARK: What is done about it

    private mutating func hear(_ key: SessionKey) {
        guard machine.entries[key] == nil, let record = record(key) else { return }
        perform(machine.load(record, of: key, now: now))
    }

    /// What is on disk of a session.
    func record(_ key: SessionKey) -> ExportRecord? { disk[key].flatMap(decode) }

    private func decode(_ bytes: [UInt8]) -> ExportRecord? {
        do {
            return try JSONCoding.decode(ExportRecord.self, from: bytes)
        } catch {
            Issue.record("\(error)")
            return nil
        }
    }

    private mutating func perform(_ actions: [ExportAction]) {
        if fate == .beforeCommit { return }
        for action in actions {
            switch action {
            case .save(let key): disk[key] = machine.entries[key].map { JSONCoding.encode($0.record) } ?? disk[key]
            case .saveWorkout: break
            case .erase(let key): disk[key] = nil
            case .publish, .removeFiles, .reply: break
            }
        }
        if fate == .afterCommit { return }
        for action in actions {
            switch action {
            case .publish(let key, let target): publish(machine.message(of: key, target: target), key, target)
            case .removeFiles(_, let files): folder.subtract(files)
            case .reply(_, _, let reply): replies.append(reply)
            case .save, .saveWorkout, .erase: break
            }
        }
    }

    private mutating func publish(_ message: MQTTMessage, _ key: SessionKey, _ target: Target) {
        #expect(message.retain && message.qos == .atLeastOnce)
        guard !message.payload.isEmpty else {
            retained[key]?[target] = nil
            return cleared.append(message.topic)
        }
        do {
            let status = try JSONCoding.decode(ExportStatus.self, from: message.payload)
            retained[key, default: [:]][target] = status
            published.append(status)
        } catch {
            Issue.record("\(error)")
        }
    }

    func status(_ target: Target, of key: SessionKey = key) -> ExportStatus? { retained[key]?[target] }
}
