import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import SessionEngine
@testable import Streams

/// The engine beside a metrics-aggregator that passes on what it stored in `heard` alone.
struct RecoveryTests {
    /// Both services and the user's device.
    private struct World {
        let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
        let key = SessionKey(User("demo")!, SessionID(UUID()))
        private var engine: Engine
        private var aggregator: StreamOwner<SampleWork>
        private var items = 0

        init() async throws {
            engine = try await Engine(try TemporaryFolder(), clock: clock)
            aggregator = try await StreamOwner(try TemporaryFolder(), clock: clock)
        }

        var session: Session? { engine.session(key) }

        mutating func perform(_ action: SessionAction) async throws {
            let command = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: action)
            let message = Topic.session(key, .command).message(JSONCoding.encode(command))
            try await pass(engine: try await engine.deliver([message]), aggregator: [])
        }

        /// The device sends an item of this time.
        mutating func send(_ time: Timestamp) async throws {
            let batch = SampleBatch(first: items, items: [Sample(time: time)])
            items += 1
            let message = Topic.session(key, .samples(Device("phone-1")!)).message(batch.payload)
            try await pass(engine: [], aggregator: try await aggregator.deliver([message]))
        }

        /// A tenth of a second passes.
        mutating func tick() async throws {
            clock.advance(by: .milliseconds(100))
            try await pass(engine: try await engine.tick(), aggregator: try await aggregator.tick())
        }

        /// Passes on messages and what follows from them.
        private mutating func pass(engine states: [MQTTMessage], aggregator reports: [MQTTMessage]) async throws {
            var (states, reports) = (states, reports)
            while !states.isEmpty || !reports.isEmpty {
                let heard = reports.filter { $0.topic == Topic.session(key, .heard(.samples)).name }
                reports = try await aggregator.deliver(
                    states.filter { $0.topic == Topic.session(key, .state).name })
                states = try await engine.deliver(heard)
            }
        }
    }

    @Test func `a recovered session ends with its last item, a second after it is stored`() async throws {
        var random = SeededRandom()
        for _ in 0..<10 {
            var world = try await World()
            try await world.perform(.start(SessionStart(activity: .running, countdown: 0)))
            let discard = Int.random(in: 50...300, using: &random)
            let recover = discard + Int.random(in: 1...100, using: &random)
            let end = discard + Int.random(in: -40...200, using: &random)
            var last: (time: Timestamp, step: Int)?
            var lag = 0.0
            for step in 0..<recover + 250 {
                if step == discard { try await world.perform(.discard) }
                if step == recover { try await world.perform(.recover) }
                if step <= end, Int.random(in: 0..<10, using: &random) == 0 {
                    lag = max(0, lag + Double.random(in: -2...2, using: &random))
                    let time = max(last?.time ?? world.clock.now, world.clock.now - lag)
                    try await world.send(time)
                    last = (time, step)
                }
                try await world.tick()
                guard let last, step >= recover, step - last.step > 10 else { continue }
                #expect(world.session?.endedAt == last.time, "seed \(random.seed), \(step - last.step) steps")
            }
        }
    }
}
