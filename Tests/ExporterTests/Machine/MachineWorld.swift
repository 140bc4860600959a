import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Workouts in any order and any number, targets that fail at random, devices with and without results, and a process that
/// is killed at any time.
struct MachineWorld {
    private(set) var run = ExportMachineRun()
    /// The revisions of each session's workout, as the engine published them.
    private var published: [SessionKey: [WorkoutRecord]] = [:]
    /// The newest revision that the service has stored.
    private var received: [SessionKey: Int64] = [:]
    private var deleted: Set<SessionKey> = []
    private var underway: [(work: ExportWork, destination: ExportWork.Destination)] = []
    private var results: [(result: ExportResult, key: SessionKey)] = []
    /// The upload server's files, by idempotency key.
    private var stored: [String: Int64] = [:]
    /// Requests for the upload of a session.
    private var requests: [SessionKey: Int] = [:]
    /// Sessions that may be uploaded: for the first time, or after a request.
    private var isWanted: [SessionKey: Bool] = [:]
    private var checked = 0
    private var newest: [SessionKey: [Target: ExportStatus]] = [:]

    let keys: [SessionKey] = (0..<6).map { number in
        SessionKey(User("u\(number / 2)")!, SessionID("00000000-0000-4000-8000-00000000000\(number)")!)
    }

    private func targets(_ key: SessionKey) -> [Target] {
        key.user.description == "u2" ? [.folder, .sessionFolder] : [.sessionFolder, .folder, .upload]
    }

    private static func keepsFiles(_ target: Target) -> Bool { [.sessionFolder, .folder].contains(target) }

    private func files(_ workout: Int64, of key: SessionKey, in target: Target) -> [String] {
        target == .sessionFolder ? ["\(key)/\(workout).json"] : ["\(key)-\(workout % 3).fit", "\(key).csv"]
    }

    // MARK: Events

    mutating func step(_ random: inout SeededRandom) {
        let key = keys.randomElement(using: &random)!
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<5: publish(key, &random)
        case 5..<9:
            guard let workout = published[key]?.randomElement(using: &random) else { return }
            receive(workout)
        case 9..<16: begin(Int.random(in: 0...3, using: &random))
        case 16..<26: end(&random)
        case 26..<28: request(key, [nil, .folder, .sessionFolder, .upload, .healthKit].randomElement(using: &random)!)
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
        let workout = ExportMachineRun.workout(
            revision, of: key, mode: Bool.random(using: &random) ? .phone : .watch,
            isIncomplete: Int.random(in: 0..<3, using: &random) == 0)
        published[key, default: []].append(workout)
        if Bool.random(using: &random) { receive(workout) }
    }

    private mutating func receive(_ workout: WorkoutRecord) {
        let key = SessionKey(workout.user, workout.session)
        run.receive(workout, targets: targets(key))
        guard !deleted.contains(key) else { return }
        received[key] = max(received[key] ?? 0, workout.revision)
    }

    private mutating func begin(_ room: Int) {
        for work in run.begin(room: room) {
            #expect(!deleted.contains(work.key), "a deleted session is exported")
            #expect(!underway.contains { $0.work.key == work.key }, "collected twice at once")
            for destination in work.destinations {
                if destination.target == .upload {
                    #expect(isWanted[work.key] ?? true, "uploaded again without a request")
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
        tell(work, destination, .delivered(files: bring(work, destination)))
    }

    /// Gives the workout to the target, which may fail afterwards, and returns its files.
    @discardableResult
    private mutating func bring(_ work: ExportWork, _ destination: ExportWork.Destination) -> [String] {
        guard Self.keepsFiles(destination.target) else {
            if stored[destination.idempotencyKey] == nil { stored[destination.idempotencyKey] = work.workout }
            return []
        }
        let files = files(work.workout, of: work.key, in: destination.target)
        run.write(files, destination.target, of: work.key)
        return files
    }

    private mutating func tell(_ work: ExportWork, _ destination: ExportWork.Destination, _ delivery: Delivery) {
        run.end(work, destination.target, delivery)
        guard destination.target == .upload, case .delivered = delivery else { return }
        // A request during the delivery of an older revision leads to another upload.
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
        // Interrupted deliveries may have arrived.
        for (work, destination) in underway where Bool.random(using: &random) { bring(work, destination) }
        let doomed = underway.randomElement(using: &random)
        underway = []
        if let fate = ExportMachineRun.Fate.allCases.randomElement(using: &random), let (work, destination) = doomed {
            let files = bring(work, destination)
            run.die(fate) { $0.end(work, destination.target, .delivered(files: files)) }
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

    // MARK: Invariants

    private mutating func check() {
        for status in run.published[checked...] {
            let key = SessionKey(status.user, status.session)
            if let last = newest[key]?[status.target] {
                #expect(status.revision >= last.revision, "a revision decreased")
                #expect(status.revision > last.revision || status == last, "one revision with two contents")
            }
            newest[key, default: [:]][status.target] = status
            #expect(!deleted.contains(key), "a status of a deleted session")
        }
        checked = run.published.count
        for key in keys {
            let sent = stored.keys.count { $0.hasPrefix("\(key)/upload") }
            #expect(sent <= 1 + requests[key, default: 0], "uploaded more often than requested")
        }
    }

    /// Ends all failures and requests failed exports: every workout arrives at each of its targets.
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
        for key in keys {
            guard !deleted.contains(key), let revision = received[key] else {
                #expect(
                    run.disk[key] == nil && run.retained[key]?.isEmpty ?? true, "\(key) still has a record or status")
                #expect(run.files[key] == nil, "\(key) still has files")
                continue
            }
            for target in targets(key) + [.healthKit] {
                let job = run.record(key)?[target]
                #expect(job?.status == .done, "\(key) is not exported to \(target)")
                if target != .upload { #expect(job?.delivered ?? -1 <= revision) }
                guard Self.keepsFiles(target) else { continue }
                #expect(job?.delivered == revision)
                #expect(run.files[key]?[target] == files(revision, of: key, in: target))
            }
            if targets(key).contains(.upload) { #expect(stored["\(key)/upload"] != nil) }
        }
    }
}

extension ExportStatus {
    /// Whether a device performs the export, on request or by itself.
    fileprivate var isForDevice: Bool { status == .exporting || (status == .pending && mode == .watch) }
}

/// Any events in any order, with repetitions and crashes.
@Suite(.timeLimit(.minutes(60))) struct MachinePropertyTests {
    @Test func `every workout arrives at each target, at an upload once, and deleted workouts leave nothing`() {
        var random = SeededRandom()
        for _ in 0..<Tier.runs(20, nightly: 60) {
            var world = MachineWorld()
            for _ in 0..<250 { world.step(&random) }
            world.settle()
        }
    }
}
