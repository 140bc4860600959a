import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import MetricsAggregator
@testable import RouteBuilder
@testable import Streams

/// The items of an owner of streams.
protocol StreamStormItems: SendableMetatype {
    associatedtype Work: StreamWork

    /// Consecutive items of a device.
    static func batch(_ script: Script, _ numbers: Range<Int>, _ time: (Int) -> Timestamp) -> MQTTMessage
}

enum SampleStormItems: StreamStormItems {
    typealias Work = SampleWork

    static func batch(_ script: Script, _ numbers: Range<Int>, _ time: (Int) -> Timestamp) -> MQTTMessage {
        let items = numbers.map { number in
            var sample = Sample(time: time(number))
            sample[.heartRate] = Double(90 + number % 60)
            sample[.distance] = 3
            return sample
        }
        return script.batch("watch-1", numbers.lowerBound, items)
    }
}

enum LocationStormItems: StreamStormItems {
    typealias Work = RouteWork

    static func batch(_ script: Script, _ numbers: Range<Int>, _ time: (Int) -> Timestamp) -> MQTTMessage {
        let items = numbers.map { number in
            var location = Location(
                time: time(number), latitude: 47 + 3 * Double(number) / 111_194.93, longitude: 8)
            location[.horizontalAccuracy] = 5
            return location
        }
        return script.batch("watch-1", numbers.lowerBound, items)
    }
}

/// Three sessions whose device sends items, of which the third is deleted.
struct StreamStorm<Items: StreamStormItems>: StormService {
    private typealias Work = Items.Work

    static var name: String { Work.service }
    static var schema: StoreSchema { StreamStore.schema(Work.service) }
    private static var count: Int { 300 }
    private let store: any Store
    private var loop: StreamLoop<Work>
    private var ends: [StreamJob<Work>.End] = []

    init(_ context: ServiceContext, _ store: any Store) {
        self.store = store
        var bounds = StreamBounds()
        // The last folds and the summaries are jobs.
        bounds.manyItems = 150
        loop = StreamLoop(context: context, store: store, bounds: bounds)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        let ended = ends
        ends = []
        try await loop.handle(event, ends: ended)
        for job in loop.takeJobs() { ends.append(await job.run(store)) }
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...3).map { number in
            var script = StormScript(number)
            let key = script.key
            var session = Script("\(key.user)", start: start.seconds, session: key.session)
            script.steps.append(.retain(session.stateMessage))
            for first in stride(from: 0, to: count, by: 60) {
                let batch = Items.batch(session, first..<first + 60) { start + Double($0) }
                let ack = Topic.session(key, Work.kind.ack(Device("watch-1")!))
                script.steps.append(.stream(batch, ack: ack, end: first + 60))
            }
            let segment = Segment(start: start, end: start + Double(count - 1))
            script.steps.append(.retain(session.change(.completed, [segment])))
            if number == 3 { script.steps.append(.retain(session.change(.deleted, []))) }
            return script
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState(accepted: nil)
        var ceilings: [Shard: Int64] = [:]
        for (place, bytes) in try disk.records(in: StreamStore.revisions) {
            ceilings[place.shard] = Int64(String(decoding: bytes, as: UTF8.self))
        }
        // Live values are below a ceiling that is stored before. They do not wait for the session's record: after a failed
        // commit of it the next owner receives the state again.
        stored.ceiling = { [ceilings] topic in
            guard case .session(let key, let kind) = topic, [Work.kind.live, Work.kind.heard].contains(kind) else {
                return nil
            }
            return ceilings[key.session.shard]
        }
        for (key, record) in try disk.sessions(StreamStore.sessions, StreamRecord<Work.Totals>.self) {
            stored.raise(.session(key, Work.kind.summary), record.report?.revision)
            for number in 0..<(record.report?.chunks ?? 0) {
                stored.raise(.session(key, Work.kind.chunk(number)), record.report?.revision)
            }
            stored.note(key.user, [record.state.status])
            stored.note(key.user, [record.report?.next.values.sorted()])
            stored.note(key.user, [record.report?.totals])
        }
        return stored
    }

    static func revision(of message: MQTTMessage) throws -> Int64 {
        let object = try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
        return (object?["revision"] ?? object?["s"]) as? Int64 ?? 0
    }
}
