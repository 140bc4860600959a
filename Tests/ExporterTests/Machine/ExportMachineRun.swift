import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// A machine with a disk, a bus and targets of the test. It performs actions like the service.
struct ExportMachineRun {
    /// The targets of the service, and one more that keeps files.
    private static let policies = ExportTargets.policies(ExportTargets.all + [SessionFolderTarget.self])

    private(set) var machine = ExporterMachine(policies: policies)
    private(set) var moment = Moment(Timestamp(seconds: 1_800_000_000))
    var now: Timestamp { moment.wallClock }
    /// The stored records by session.
    private(set) var disk: [SessionKey: [UInt8]] = [:]
    /// Retained statuses.
    private(set) var retained: [SessionKey: [Target: ExportStatus]] = [:]
    /// All published statuses in order.
    private(set) var published: [ExportStatus] = []
    /// Cleared topics.
    private(set) var cleared: [String] = []
    private(set) var replies: [Reply] = []
    /// The files that targets keep. The test writes them, and the machine's actions remove them.
    private(set) var files: [SessionKey: [Target: [String]]] = [:]

    /// The point in an event at which the process is killed; `nil` while it runs.
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

    // MARK: Events

    /// - Parameter targets: the user's targets besides HealthKit.
    mutating func receive(_ workout: WorkoutRecord, targets: [Target] = [.folder, .upload]) {
        let key = SessionKey(workout.user, workout.session)
        load(key)
        perform(machine.receiveWorkout(workout, targets: targets + [.healthKit], now: moment))
    }

    /// Replaces the target's files of an earlier revision.
    mutating func write(_ files: [String], _ target: Target = .folder, of key: SessionKey = key) {
        self.files[key, default: [:]][target] = files
    }

    mutating func begin(room: Int = 4, uploads: Int? = nil) -> [ExportWork] {
        let begun = machine.begin(now: moment, room: [.folder: room, .sessionFolder: room, .upload: uploads ?? room])
        perform(begun.actions)
        return begun.works
    }

    mutating func end(_ work: ExportWork, _ target: Target, _ delivery: Delivery) {
        guard let destination = work.destinations.first(where: { $0.target == target }) else {
            Issue.record("no destination \(target)")
            return
        }
        perform(machine.recordOutcome(delivery, for: target, of: work.key, begun: destination.begun, now: moment))
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
        load(key)
        let request = SessionRequest(id: id, client: Client("tests")!, action: .export(target))
        perform(machine.answerRequest(request, of: key, targets: targets + [.healthKit], now: moment))
        return replies.last { $0.id == id }
    }

    @discardableResult
    mutating func result(
        _ workout: Int64, _ error: Refusal? = nil, id: CommandID = CommandID(UUID()), from client: String = "tests",
        mode: Mode? = nil, of key: SessionKey = key, target: Target = .healthKit
    ) -> Reply? {
        load(key)
        let result = ExportResult(id: id, client: Client(client)!, mode: mode, workout: workout, error: error)
        perform(machine.receiveResult(result, of: key, target: target, now: moment))
        return replies.last { $0.id == id }
    }

    mutating func delete(_ key: SessionKey = key) {
        load(key)
        perform(machine.delete(key))
    }

    /// Delivers the retained status from the broker.
    mutating func see(_ revision: Int64, of key: SessionKey = key, _ target: Target) {
        perform(machine.see(revision, of: key, target: target, now: moment))
    }

    mutating func pass(_ seconds: Double = 0) {
        moment = moment + seconds
        perform(machine.advance(to: moment))
    }

    /// Passes time in which the process does nothing.
    mutating func pause(_ seconds: Double) { moment = moment + seconds }

    /// Sets the wall clock.
    mutating func step(by seconds: Double) { moment = moment.stepped(by: seconds) }

    mutating func connect() { perform(machine.connected(now: moment)) }

    /// Kills the process and starts another on the same disk.
    mutating func crash() {
        machine = ExporterMachine(policies: Self.policies)
        for (key, bytes) in disk.sorted(by: { $0.key < $1.key }) {
            guard let record = decode(bytes), !record.isAtRest(moment) else { continue }
            perform(machine.load(record, of: key, now: moment))
        }
        connect()
    }

    /// Kills the process during an event.
    mutating func die(_ fate: Fate, over event: (inout ExportMachineRun) -> Void) {
        self.fate = fate
        event(&self)
        self.fate = nil
        crash()
    }

    // MARK: Actions

    private mutating func load(_ key: SessionKey) {
        guard machine.entries[key] == nil, let record = record(key) else { return }
        perform(machine.load(record, of: key, now: moment))
    }

    /// The stored record of a session.
    func record(_ key: SessionKey) -> ExportRecord? { disk[key].flatMap(decode) }

    private func decode(_ bytes: [UInt8]) -> ExportRecord? {
        do {
            return try JSONCoding.decode(ExportRecord.self, from: bytes, now: moment)
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
            case .publish, .remove, .reply, .saveUse: break
            }
        }
        if fate == .afterCommit { return }
        for action in actions {
            switch action {
            case .publish(let key, let target): publish(machine.message(of: key, target: target), key, target)
            case .remove(let key): files[key] = nil
            case .reply(_, _, let reply): replies.append(reply)
            case .save, .saveWorkout, .erase, .saveUse: break
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
