import MQTT
import TestSupport
import Testing
import Workouts

@testable import ServiceKit

@Suite(.timeLimit(.minutes(60))) struct BusyShareTests {
    private let start = Moment(Timestamp(seconds: 1_735_689_600))

    @Test func `a window ends after ten seconds with the share of time in events`() {
        var busy = BusyShare(from: start)
        #expect(busy.handled(from: start + 1, to: start + 3) == nil)
        #expect(busy.handled(from: start + 9.5, to: start + 10) == 0.25)
        // The next window begins empty.
        #expect(busy.handled(from: start + 15, to: start + 20) == 0.5)
        #expect(busy.handled(from: start + 40, to: start + 40) == 0)
    }

    @Test func `an event longer than a window counts as busy to its end`() {
        var busy = BusyShare(from: start)
        #expect(busy.handled(from: start, to: start + 90) == 1)
        #expect(busy.handled(from: start + 90, to: start + 180) == 1)
    }

    @Test func `every service exports the share`() async throws {
        let (clock, metrics, broker) = (ManualClock(), PrometheusMetrics(), InMemoryBroker())
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "test"), logger: .silent, bus: broker.client(), clock: clock,
            metrics: metrics)
        let (ticks, ticked) = AsyncStream.makeStream(of: Void.self)
        let serving = Task {
            try await context.serve(
                store: MemoryStore.owningAll(),
                subscriptions: { _ in [MQTTSubscription(filter: "in/+", qos: .atLeastOnce)] }
            ) { event in
                switch event {
                case .tick: ticked.yield()
                case .batch(let batch):
                    clock.advance(by: .seconds(6))
                    batch.finish()
                default: break
                }
            }
        }
        defer { serving.cancel() }
        try await clock.waitForSleepers()
        #expect(metrics.render().contains("\npacebus_loop_busy_ratio 0\n"))
        // Four idle seconds, then six in one event.
        clock.advance(by: .seconds(4))
        for await _ in ticks.prefix(1) {}
        try await broker.client().send([MQTTMessage(topic: "in/a", payload: [1], qos: .atLeastOnce)])
        let isExported = await eventually { metrics.render().contains("\npacebus_loop_busy_ratio 0.6\n") }
        #expect(isExported, "\(metrics.render())")
    }
}
