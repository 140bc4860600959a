import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// The table of cases that the pages' `stream.js` follows too.
@Suite struct StreamCaseTests {
    struct Case: Decodable, CustomTestStringConvertible {
        struct Event: Decodable {
            enum Kind: String, Decodable { case append, connect, disconnect, ack }

            let at: Double
            let type: Kind
            let count: Int?
            let n: Int?
            let e: Int64?
            let error: String?

            fileprivate var ack: Ack {
                switch error {
                case "stream_reused": .streamReused
                case "too_many_items": .tooManyItems(next: n ?? 0, retryAfter: nil)
                default: .next(n ?? 0)
                }
            }
        }

        let name: String
        let complete: Bool?
        let events: [Event]
        let until: Double
        /// Time, first item, items, and 1 if an acknowledgement is asked for.
        let sent: [[Double]]
        let progress: [String]?

        var testDescription: String { name }
    }

    static let cases: [Case] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Shared/Bus/examples/streams.json")
        do {
            return try JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
        } catch {
            fatalError("\(file.path): \(error)")
        }
    }()

    @Test(arguments: cases) func `a stream sends what its case says`(example: Case) {
        let start = Moment(Timestamp(seconds: 1_700_000_000))
        let all = samples(example.events.compactMap(\.count).reduce(0, +))
        var stream = ItemSender<Sample>()
        stream.isComplete = example.complete ?? false
        var events = example.events[...]
        var sent: [[Double]] = []
        var progress: [String] = []
        for time in stride(from: 0, through: example.until, by: 0.5) {
            let now = start + time
            while let event = events.first, event.at <= time {
                events.removeFirst()
                switch event.type {
                case .append: stream.append(all[stream.count..<stream.count + (event.count ?? 0)])
                case .connect: stream.connected()
                case .disconnect: stream.disconnected()
                case .ack:
                    let outcome = stream.receive(event.ack, epoch: event.e, now)
                    progress.append(Self.name(outcome))
                    if case .fellBack(let number) = outcome {
                        stream.takeBack(Array(all.prefix(stream.count)), from: number)
                    }
                }
            }
            for batch in stream.take(now) {
                sent.append([time, Double(batch.range.lowerBound), Double(batch.items.count), batch.asksAck ? 1 : 0])
            }
        }
        #expect(sent == example.sent)
        #expect(progress == example.progress ?? [])
    }

    private static func name(_ progress: StreamProgress) -> String {
        switch progress {
        case .nothing: "nothing"
        case .moved: "moved"
        case .fellBack: "fellBack"
        case .failed(.tooManyItems): "full"
        case .failed: "reused"
        }
    }
}
