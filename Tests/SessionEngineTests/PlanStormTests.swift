import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Random planned sessions: late, repeated and reordered commands of two clients, and crashes of the engine.
struct PlanStormTests {
    private static let start = PlannedEngine.start
    private let key = SessionKey(PlannedEngine.user, SessionID(UUID()))

    private static let mixed = WorkoutDefinition(
        name: "Mixed", focus: ["conditioning"], equipment: ["kettlebell"],
        sections: WorkoutDefinition.strength.sections + [
            WorkoutDefinition.Section(
                timer: TimerConfiguration(.amrap, cap: 120),
                items: [
                    .init(id: "swing", name: "Swing", sets: [PlannedSet(repetitions: 15, weight: 16)]),
                    .init(id: "burpee", name: "Burpee", sets: [PlannedSet(repetitions: 5)]),
                ]),
            WorkoutDefinition.Section(
                timer: TimerConfiguration(.emom, rounds: 4),
                items: [.init(id: "jump", name: "Box Jump"), .init(id: "plank", name: "Plank", exercise: .plank)]),
            WorkoutDefinition.Section(
                timer: TimerConfiguration(.forTime, rounds: 2, cap: 300),
                items: [.init(id: "squat", name: "Squat", sets: [PlannedSet(repetitions: 21), PlannedSet(time: 20)])]),
        ])

    private static let items = ["bench", "row", "swing", "burpee", "jump", "plank", "squat"]

    private static func start(_ time: Timestamp) -> SessionAction {
        var start = SessionStart(activity: .hiit, countdown: 0)
        start.definition = mixed
        return .start(start)
    }

    private func action(_ random: inout SeededRandom) -> SessionAction {
        let item = Self.items.randomElement(using: &random)!
        let reference = SetReference(
            item: item, set: Int.random(in: 0...2, using: &random), round: Int.random(in: 1...3, using: &random))
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<7:
            return .plan(.completeSet(SetCompletion(reference, repetitions: Bool.random(using: &random) ? 7 : nil)))
        case 7: return .plan(.completeSet(SetCompletion()))
        case 8: return .plan(.uncompleteSet(reference))
        case 9: return .plan(.skipExercise(item: Bool.random(using: &random) ? item : nil))
        case 10: return .plan(.goTo(item: item))
        case 11: return .plan(.swapExercise(item: item, alternative: nil))
        case 12: return .plan(.adjustDifficulty(item: nil, Bool.random(using: &random) ? .easier : .harder))
        case 13: return .plan(.flagPain(item: item))
        case 14: return .plan(.setPresentationMode(.list))
        case 15: return .pause
        case 16: return .suspend
        case 17, 18: return .resume
        default: return .lap
        }
    }

    /// A command, and its seconds after the previous one.
    private struct Sent {
        let command: Command
        let wait: Double
    }

    /// Commands in the order of arrival; some have an earlier time than previous ones.
    private func life(_ random: inout SeededRandom) -> [Sent] {
        var time = Self.start
        let clients = [Client("watch-1")!, Client("phone-1")!]
        func command(_ action: SessionAction, at: Timestamp, _ client: Client) -> Command {
            Command(id: CommandID(UUID()), client: client, at: at, action: action)
        }
        var sent = [Sent(command: command(Self.start(time), at: time, clients[0]), wait: 0)]
        for _ in 0..<Int.random(in: 10...40, using: &random) {
            let wait = Double(Int.random(in: 0...20, using: &random))
            time = time + wait
            let late = Int.random(in: 0..<4, using: &random) == 0 ? Double(Int.random(in: 1...40, using: &random)) : 0
            let client = clients.randomElement(using: &random)!
            sent.append(Sent(command: command(action(&random), at: time - late, client), wait: wait))
            // A client that missed the reply repeats the command, possibly much later.
            if Int.random(in: 0..<4, using: &random) == 0, let earlier = sent.randomElement(using: &random) {
                sent.append(Sent(command: earlier.command, wait: 0))
            }
        }
        sent.append(Sent(command: command(.end(streams: [:]), at: time + 5, clients[0]), wait: 5))
        return sent
    }

    /// The point in a command at which the engine crashes.
    private enum Death: CaseIterable {
        case never, beforeCommit, afterCommit, afterFirstMessage
    }

    @Test func `in any order of events there is no illegal state, no lost set and no drift`() async throws {
        var random = SeededRandom()
        for _ in 0..<Tier.runs(10, nightly: 100) {
            let life = life(&random)
            let calm = try await run(life, seed: random.seed) { _ in .never }
            let stormy = try await run(life, seed: random.seed) { attempt in
                attempt < 2 && Int.random(in: 0..<4, using: &random) == 0
                    ? Death.allCases.randomElement(using: &random)! : .never
            }
            #expect(stormy.session == calm.session, "seed \(random.seed)")
            #expect(stormy.outcomes == calm.outcomes, "seed \(random.seed)")
        }
    }

    private func run(
        _ life: [Sent], seed: UInt64, dying: (Int) -> Death
    ) async throws -> (session: Session?, outcomes: [String]) {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Self.start)
        var engine: Engine? = try await Engine(folder, clock: clock)
        var outcomes: [String] = []
        var model = PlanModel()
        var states: [Int64: [UInt8]] = [:]
        /// A revision always has the same bytes.
        func see(_ messages: [MQTTMessage]) throws {
            for message in messages where message.topic == Topic.session(key, .state).name {
                let revision = try SessionState(message.payload).revision
                let known = states.updateValue(Array(message.payload), forKey: revision)
                #expect(known == nil || known == Array(message.payload), "seed \(seed), revision \(revision)")
            }
        }
        for sent in life {
            clock.advance(by: .milliseconds(Int64(sent.wait * 1_000)))
            try see(try await engine?.tick() ?? [])
            let message = Topic.session(key, .command).message(JSONCoding.encode(sent.command))
            var reply: Reply?
            var attempt = 0
            while reply == nil {
                let death = dying(attempt)
                attempt += 1
                switch death {
                case .never: break
                case .beforeCommit: engine?.store.refuse(true)
                case .afterCommit: engine?.bus.limit(to: 0)
                case .afterFirstMessage: engine?.bus.limit(to: 1)
                }
                let messages = try await engine?.deliver([message]) ?? []
                try see(messages)
                reply = messages.replies.first { $0.id == sent.command.id }
                if death != .never {
                    // The lock of the store ends with the process.
                    engine = nil
                    engine = try await Engine(folder, clock: clock)
                    try see(try await engine?.connect() ?? [])
                }
            }
            outcomes.append(reply?.error?.code ?? "ok")
            if reply?.ok == true { model.accept(sent.command) }
            let record = try #require(engine?.record(key))
            #expect(model.validationError(record) == nil, "seed \(seed): \(sent.command.action)")
        }
        return (engine?.session(key), outcomes)
    }
}

/// Computes the expected results of the accepted commands, independent of the engine.
private struct PlanModel {
    private struct Place: Hashable {
        let item: String?
        let set: Int?
        let round: Int?
    }

    private var seen: Set<CommandID> = []
    private var sets: Set<Place> = []
    private var transition: Timestamp?
    private var since: Timestamp?
    private var active: Int64 = 0

    mutating func accept(_ command: Command) {
        guard seen.insert(command.id).inserted, let time = command.at else { return }
        let at = max(time, transition ?? time)
        switch command.action {
        case .start, .resume:
            since = at
            transition = at
        case .pause, .suspend, .end:
            if let since { active += at.microseconds - since.microseconds }
            since = nil
            transition = at
        case .lap: break
        case .plan(.completeSet(let completion)):
            let place = place(completion.reference)
            if place.item != nil { sets.insert(place) }
        case .plan(.uncompleteSet(let reference)): sets.remove(place(reference))
        default: break
        }
    }

    private func place(_ reference: SetReference) -> Place {
        Place(item: reference.item, set: reference.set, round: reference.round)
    }

    /// The first error of a record.
    func validationError(_ record: SessionRecord) -> String? {
        let session = record.session
        let closed = session.segments.filter { $0.end != nil }.activeDuration()
        if closed != Double(active) / 1e6 { return "active \(closed) s, not \(Double(active) / 1e6)" }
        if (session.segments.last?.end == nil) != (since != nil) {
            return "the clock should \(since != nil ? "run" : "stand still")"
        }
        if let error = record.state.validationError { return error }
        guard let plan = record.planState else { return "no plan" }
        let bytes = JSONCoding.encode(PublishedState(record.state, plan))
        guard (try? PlanState(bytes)) == plan else { return "the state is not decoded as encoded" }
        let progress = plan.progress.progress
        for place in sets {
            let found = progress.completed[place.item ?? ""]?.contains {
                $0.set == place.set && $0.round == place.round
            }
            if found != true { return "lost \(place)" }
        }
        if progress.completed.values.contains(where: { Set($0.map { [$0.round, $0.set] }).count != $0.count }) {
            return "a set counts twice"
        }
        if zip(progress.visits, progress.visits.dropFirst()).contains(where: { $0.at > $1.at }) { return "visits" }
        if zip(progress.changes, progress.changes.dropFirst()).contains(where: { $0.at > $1.at }) { return "changes" }
        for block in plan.plan.blocks where block.timer.isPaced {
            for item in block.items {
                let last = progress.changes.last { $0.item == item.id }.map(\.exercise) ?? 0
                if last != (progress.skipped.contains(item.id) ? nil : item.chosen) { return "changed \(item.id)" }
            }
        }
        guard (0...plan.progress.total).contains(plan.progress.done) else { return "done \(plan.progress.done)" }
        if progress.skipped.contains(where: { plan.plan.item($0) == nil }) { return "skipped" }
        return nil
    }
}
