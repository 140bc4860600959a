import Foundation
import TestSupport
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// The streams' service of which a test needs only that it owns samples.
typealias Aggregator = StreamOwner<SampleWork>

extension StreamMachine {
    /// The sessions that wait for something.
    func keys(with task: StreamTask) -> [SessionKey] {
        sessions.filter { $0.value.tasks.contains(task) }.keys.sorted()
    }
}

extension ItemStream<Sample> {
    convenience init(_ stored: StoredStream<Sample> = StoredStream()) {
        self.init(stored, of: SessionKey(User("anna")!, SessionID(UUID())), .samples, from: Device("watch-1")!)
    }

    /// A stream whose chunks are on disk.
    convenience init(first: [UInt8], last: [UInt8], number: Int) throws {
        self.init(try StoredStream(first: first, last: last, number: number))
    }
}
