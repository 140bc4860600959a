import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

private let people = (0..<4).map { User("r\($0)")! }
private let everything = Sharing.Change(position: true, heartRate: true, route: true, ghost: true, hideNear: 0)

/// What a runner shares reaches nobody who left or who is blocked, in any order of requests, states and restarts.
struct PrivacyPropertyTests {
    /// A run and what has gone out of it.
    private struct World {
        let folder: TemporaryFolder
        let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
        let run: RunID
        private var runs: Runs?
        private var states: [MQTTMessage] = []
        private var sessions: [User: SessionState] = [:]
        private var sent: [(id: CommandID, user: User, run: RunID?, action: VirtualRunRequest.Action)] = []
        private var blocked: Set<[User]> = []
        private var counts: [User: Int] = [:]
        private(set) var (partners, positions) = (0, 0)
        /// The last view of each runner who left.
        private(set) var left: [User: VirtualRunView] = [:]

        init() async throws {
            folder = try TemporaryFolder()
            var first = try await Runs(folder, clock: clock)
            run = try await first.start(people[0], Array(people.dropFirst()))
            for user in people { try await first.accept(user, run, .share(everything)) }
            try await first.pass(4)
            for user in people { sessions[user] = try first.state(run, user) }
            states = sessions.values.map(\.message)
            try await first.deliver(states)
            runs = first
        }

        /// A step, and the messages that it sends.
        mutating func step(_ random: inout SeededRandom) async throws {
            let user = people.randomElement(using: &random)!
            let (left, blocked) = (Set(left.keys), blocked)
            var messages: [MQTTMessage] = []
            switch Int.random(in: 0..<20, using: &random) {
            case 0: messages = try await ask(user, run, .leave)
            case 1: messages = try await block(user, people.filter { $0 != user }.randomElement(using: &random)!)
            case 2:
                if let known = sent.randomElement(using: &random) {
                    messages = try await runs?.request(known.user, known.run, known.action, id: known.id) ?? []
                }
            case 3:
                runs = nil
                runs = try await Runs(folder, clock: clock, isSettled: false)
                messages = try await runs?.connect() ?? []
            case 4: messages = try await runs?.deliver(states.shuffled(using: &random)) ?? []
            case 5: messages = try await runs?.connect() ?? []
            case 6..<13:
                let snapshot = snapshot(of: user)
                messages = try await runs?.deliver([snapshot]) ?? []
            default: messages = try await runs?.pass(Double.random(in: 0.1...3, using: &random)) ?? []
            }
            // What was so before and after the step was so during it.
            check(messages, left: left, blocked: blocked.intersection(self.blocked))
        }

        private mutating func ask(
            _ user: User, _ run: RunID?, _ action: VirtualRunRequest.Action
        ) async throws -> [MQTTMessage] {
            let id = CommandID(UUID())
            sent.append((id, user, run, action))
            let messages = try await runs?.request(user, run, action, id: id) ?? []
            if case .leave = action, left[user] == nil, let view = try runs?.view(self.run, user) { left[user] = view }
            return messages
        }

        private mutating func block(_ user: User, _ other: User) async throws -> [MQTTMessage] {
            let isBlocked = blocked.contains([user, other])
            if isBlocked { blocked.remove([user, other]) } else { blocked.insert([user, other]) }
            return try await ask(user, nil, isBlocked ? .unblock(other) : .block(other))
        }

        private mutating func snapshot(of user: User) -> MQTTMessage {
            let count = counts[user, default: 0] + 1
            counts[user] = count
            var snapshot = MetricsSnapshot(user: user, revision: Int64(count))
            snapshot.run = run
            snapshot.newest = clock.now
            (snapshot.count, snapshot.activeSeconds, snapshot.distance) = (count, Double(count), Double(3 * count))
            (snapshot.heartRate, snapshot.activeEnergy) = (150, 20)
            (snapshot.latitude, snapshot.longitude) = (48 + Double(count) / 10_000, 11)
            let topic = Topic.session(sessions[user]!.key, .metrics).name
            return MQTTMessage(topic: topic, payload: snapshot.payload, qos: .atMostOnce)
        }

        private mutating func check(_ messages: [MQTTMessage], left: Set<User>, blocked: Set<[User]>) {
            func isBlocked(_ reader: User, _ other: User) -> Bool {
                blocked.contains([reader, other]) || blocked.contains([other, reader])
            }
            for reader in people {
                let hasLeft = left.contains(reader)
                for message in messages.partners(run, reader) {
                    #expect(!hasLeft)
                    for case .participant(let other) in message.rows.map(\.runner) { #expect(!left.contains(other)) }
                    for row in message.rows where row.heartRate != nil || row.activeEnergy != nil {
                        guard case .participant(let other) = row.runner else { continue }
                        #expect(!isBlocked(reader, other))
                    }
                    partners += 1
                }
                for payload in messages.payloads(.user(reader, .partnerPositions(run))) {
                    guard let message = try? JSONCoding.decode(RunPositions.self, from: payload) else { continue }
                    #expect(!hasLeft && message.x.allSatisfy { !left.contains($0.u) && !isBlocked(reader, $0.u) })
                    positions += message.x.count
                }
                if hasLeft { #expect(messages.payloads(.user(reader, .virtualRunAnnouncements(run))).isEmpty) }
                for view in messages.views(run, reader) where hasLeft { #expect(view == self.left[reader]) }
            }
        }
    }

    @Test func `no message to a runner holds what another does not share with them`() async throws {
        var random = SeededRandom()
        let seed = random.seed
        var seen = (partners: 0, positions: 0, left: 0)
        for _ in 0..<5 {
            var world = try await World()
            for _ in 0..<150 { try await world.step(&random) }
            seen = (
                seen.partners + world.partners, seen.positions + world.positions, seen.left + world.left.count
            )
        }
        // In one of them all may leave or be blocked before anyone has a position.
        #expect(seen.partners > 0 && seen.positions > 0 && seen.left > 0, "seed \(seed)")
    }
}
