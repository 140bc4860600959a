import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// People whose workouts come in any order and any number of times, targets that honour keys and fail as they please,
/// devices that answer or do not, and a process that is killed at any moment.
struct MachineWorld {
    private(set) var run = MachineRun()
    /// The revisions of each session's workout, as the engine published them.
    private var published: [SessionKey: [WorkoutRecord]] = [:]
    /// The newest that the service has taken in, and kept.
    private var heard: [SessionKey: Int64] = [:]
    private var deleted: Set<SessionKey> = []
    private var underway: [(work: ExportWork, destination: ExportWork.Destination)] = []
    private var results: [(result: ExportResult, key: SessionKey)] = []
    /// What the upload's far end has stored, by key.
    private var stored: [String: Int64] = [:]
    /// Requests for the upload of a session.
    private var requests: [SessionKey: Int] = [:]
    /// Sessions that may be uploaded: never yet, or somebody asked since.
    private var isWanted: [SessionKey: Bool] = [:]
    private var checked = 0
    private var newest: [SessionKey: [Target: ExportStatus]] = [:]

    let keys: [SessionKey] = (0..<6).map { number in
        SessionKey(User("u\(number / 2)")!, SessionID("00000000-0000-4000-8000-00000000000\(number)")!)
    }

    private func targets(_ key: SessionKey) -> [Target] {
        key.user.description == "u2" ? [.folder] : [.folder, .upload]
    }

    private func files(_ workout: Int64, of key: SessionKey) -> [String] {
        ["\(key)-\(workout % 3).fit", "\(key).csv"]
    }

    // MARK: What may happen

    mutating func step(_ random: inout SeededRandom) {
        let key = keys.randomElement(using: &random)!
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<5: publish(key, &random)
        case 5..<9:
            guard let workout = published[key]?.randomElement(using: &random) else { return }
            receive(workout)
        case 9..<16: begin(Int.random(in: 0...3, using: &random))
        case 16..<26: end(&random)
        case 26..<28: request(key, [nil, .folder, .upload, .healthKit].randomElement(using: &random)!)
        case 28..<32: answer(&random)
        case 32..<36: run.pass(.random(in: 0...3_600, using: &random))
        case 36:
            let hours = Bool.random(using: &random) ? 50.0 : 6.0
            run.pass(hours * 3_600)
        case 37:
            let seen = Int64.random(in: -5_000...5_000, using: &random) + run.now.milliseconds
            run.see(seen, of: key, targets(key).randomElement(using: &random)!)
        case 38: crash(&random)
        default:
            guard Int.random(in: 0..<4, using: &random) == 0 else { return }
            deleted.insert(key)
            run.delete(key)
        }
        check()
    }

    private mutating func publish(_ key: SessionKey, _ random: inout SeededRandom) {
        guard !deleted.contains(key) else { return }
        let revision = (published[key]?.last?.revision ?? 0) + Int64.random(in: 1...3, using: &random)
        let workout = MachineRun.workout(
            revision, of: key, mode: Bool.random(using: &random) ? .phone : .watch,
            isIncomplete: Int.random(in: 0..<3, using: &random) == 0)
        published[key, default: []].append(workout)
        if Bool.random(using: &random) { receive(workout) }
    }

    private mutating func receive(_ workout: WorkoutRecord) {
        let key = SessionKey(workout.user, workout.session)
        run.receive(workout, targets: targets(key), files: files(workout.revision, of: key))
        guard !deleted.contains(key) else { return }
        heard[key] = max(heard[key] ?? 0, workout.revision)
    }

    private mutating func begin(_ room: Int) {
        for work in run.begin(room: room) {
            #expect(!deleted.contains(work.key), "a deleted session is exported")
            #expect(!underway.contains { $0.work.key == work.key }, "collected twice at once")
            for destination in work.destinations {
                if destination.target == .upload {
                    #expect(isWanted[work.key] ?? true, "uploaded again, and nobody asked")
                }
                underway.append((work, destination))
            }
        }
    }

    private mutating func end(_ random: inout SeededRandom) {
        guard let index = underway.indices.randomElement(using: &random) else { return }
        let (work, destination) = underway.remove(at: index)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: tell(work, destination, .failed("unreachable"))
        case 1: tell(work, destination, .refused("401"))
        case 2:
            bring(work, destination)
            tell(work, destination, .failed("timed out", retryAfter: 1_000))
        default: deliver(work, destination)
        }
    }

    private mutating func deliver(_ work: ExportWork, _ destination: ExportWork.Destination) {
        bring(work, destination)
        let written = destination.target == .folder ? files(work.workout, of: work.key) : []
        tell(work, destination, .delivered(files: written))
    }

    /// The target has it, whatever is heard of that.
    private mutating func bring(_ work: ExportWork, _ destination: ExportWork.Destination) {
        if destination.target == .folder {
            run.folder.formUnion(files(work.workout, of: work.key))
        } else if stored[destination.idempotencyKey] == nil {
            stored[destination.idempotencyKey] = work.workout
        }
    }

    private mutating func tell(_ work: ExportWork, _ destination: ExportWork.Destination, _ delivery: Delivery) {
        run.end(work, destination.target, delivery)
        guard destination.target == .upload, case .delivered = delivery else { return }
        // Asked for while an older revision was on its way, it goes up once more.
        isWanted[work.key] = run.machine.entries[work.key]?.record[.upload]?.again != nil
    }

    private mutating func request(_ key: SessionKey, _ target: Target?) {
        guard run.request(target, of: key, targets: targets(key))?.ok == true, target ?? .upload == .upload else {
            return
        }
        requests[key, default: 0] += 1
        isWanted[key] = true
    }

    private mutating func answer(_ random: inout SeededRandom) {
        if Int.random(in: 0..<4, using: &random) == 0, let (result, key) = results.randomElement(using: &random) {
            run.result(result.workout, result.error, id: result.id, of: key)
            return
        }
        let waiting = keys.compactMap { run.status(.healthKit, of: $0) }.filter(\.isForDevice)
        guard let status = waiting.randomElement(using: &random) else { return }
        let codes = [nil, nil, "unavailable", "denied"]
        let error = codes.randomElement(using: &random)!.map { Refusal(code: $0, message: "no") }
        let result = ExportResult(
            id: CommandID(UUID()), client: Client("phone")!, workout: status.workout, error: error)
        let key = SessionKey(status.user, status.session)
        results.append((result, key))
        run.result(result.workout, error, id: result.id, of: key)
    }

    private mutating func crash(_ random: inout SeededRandom) {
        // What was on its way may have arrived all the same.
        for (work, destination) in underway where !deleted.contains(work.key) && Bool.random(using: &random) {
            bring(work, destination)
        }
        let doomed = underway.randomElement(using: &random)
        underway = []
        if let fate = MachineRun.Fate.allCases.randomElement(using: &random), let (work, destination) = doomed,
            !deleted.contains(work.key)
        {
            bring(work, destination)
            let written = destination.target == .folder ? files(work.workout, of: work.key) : []
            run.die(fate) { $0.end(work, destination.target, .delivered(files: written)) }
        } else {
            run.crash()
        }
        // The broker has every newest workout, and the states of deleted sessions.
        for key in keys {
            if deleted.contains(key) {
                run.delete(key)
            } else if let workout = published[key]?.last {
                receive(workout)
            }
        }
    }

    // MARK: What holds

    private mutating func check() {
        for status in run.published[checked...] {
            let key = SessionKey(status.user, status.session)
            if let last = newest[key]?[status.target] {
                #expect(status.revision >= last.revision, "a revision went back")
                #expect(status.revision > last.revision || status == last, "one revision with two contents")
            }
            newest[key, default: [:]][status.target] = status
            #expect(!deleted.contains(key), "a status of a deleted session")
        }
        checked = run.published.count
        for key in keys {
            let sent = stored.keys.count { $0.hasPrefix("\(key)/upload") }
            #expect(sent <= 1 + requests[key, default: 0], "uploaded more often than asked for")
        }
    }

    /// Everything works again, and people ask for what has failed: every workout ends in each of its targets.
    mutating func settle() {
        for key in keys where !deleted.contains(key) {
            if let workout = published[key]?.last { receive(workout) }
        }
        for _ in 0..<20 {
            while let (work, destination) = underway.popLast() { deliver(work, destination) }
            for key in keys where !deleted.contains(key) {
                guard let record = run.record(key) else { continue }
                for job in record.jobs where job.status == .failed || (job.isOpen && job.target == .healthKit) {
                    request(key, job.target)
                }
            }
            begin(10)
            run.pass(1)
            for status in keys.compactMap({ run.status(.healthKit, of: $0) }) where status.isForDevice {
                run.result(status.workout, of: SessionKey(status.user, status.session))
            }
            run.pass(6 * 3_600)
            check()
        }
        var files: Set<String> = []
        for key in keys {
            guard !deleted.contains(key), let revision = heard[key] else {
                #expect(run.disk[key] == nil && run.retained[key]?.isEmpty ?? true, "something is left of \(key)")
                continue
            }
            files.formUnion(self.files(revision, of: key))
            for target in targets(key) + [.healthKit] {
                let job = run.record(key)?[target]
                #expect(job?.status == .done, "\(key) never came to \(target)")
                if target != .upload { #expect(job?.delivered ?? -1 <= revision) }
                if target == .folder { #expect(job?.delivered == revision) }
            }
            if targets(key).contains(.upload) { #expect(stored["\(key)/upload"] != nil) }
        }
        #expect(run.folder == files)
    }
}

extension ExportStatus {
    /// Whether a device is to write it, or is writing it by itself.
    fileprivate var isForDevice: Bool { status == .exporting || (status == .pending && mode == .watch) }
}

/// Whatever comes, in whatever order, how often, and whoever dies meanwhile.
@Suite(.timeLimit(.minutes(5))) struct MachinePropertyTests {
    @Test func `every workout ends in each target, an upload once, and nothing remains of what was deleted`() {
        var random = SeededRandom()
        for _ in 0..<60 {
            var world = MachineWorld()
            for _ in 0..<250 { world.step(&random) }
            world.settle()
        }
    }
}
