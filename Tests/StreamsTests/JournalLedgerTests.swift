import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Streams

struct JournalLedgerTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))
    private var ledger = JournalLedger<String>()

    /// Adds a commit with the oldest items of some streams and returns its number.
    @discardableResult
    private mutating func append(_ sequence: Int64, _ streams: String..., bytes: Int = 1, at second: Double) -> Int {
        let commit = ledger.append(through: sequence, bytes: bytes, start + second)
        for stream in streams { ledger.add(stream, to: commit) }
        return commit
    }

    private func due(_ second: Double, limit: Int = 32) -> [String] {
        ledger.due(start + second, limit: limit) { _, _ in true }
    }

    @Test mutating func `streams are due 70 s after their oldest item, the oldest first, up to a limit`() {
        append(1, "a", "b", at: 0)
        append(2, "c", at: 1)
        #expect(due(69.9) == [])
        #expect(due(70) == ["a", "b"])
        #expect(due(71) == ["a", "b", "c"])
        #expect(due(71, limit: 1) == ["a"])
        #expect(ledger.due(start + 71, limit: 2) { stream, _ in stream != "a" } == ["b", "c"])
    }

    @Test mutating func `a record is removable once all streams up to it are in chunks`() {
        let commits = [append(3, "a", "b", at: 0), append(4, "c", at: 1), append(7, at: 2)]
        ledger.release(commits[1])
        ledger.release(commits[0])
        let early = ledger.removable()
        #expect(early == nil && ledger.bytes == 3)
        ledger.release(commits[0])
        // The last commit appended more items of streams with older ones.
        let all = ledger.removable()
        #expect(all == 7)
        ledger.removed()
        #expect(ledger.bytes == 0 && ledger.oldest == nil)
        ledger.release(append(8, "a", at: 3))
        let next = ledger.removable()
        #expect(next == 8)
        let isDue = ledger.isDue(start + 4)
        #expect(isDue)
    }

    @Test mutating func `items from before a deletion are due 20 s after it, later ones are not`() {
        append(1, "a", at: 0)
        append(2, "b", at: 10)
        ledger.deleted(start + 10)
        append(3, "c", at: 10.5)
        // The second deletion of a second is due with the first.
        ledger.deleted(start + 10.6)
        append(4, "d", at: 11)
        #expect(due(29.9) == [])
        #expect(due(30) == ["a", "b", "c"])
        #expect(due(80) == ["a", "b", "c"] && due(81).count == 4)
    }

    @Test mutating func `late streams raise the limit, and a full journal has all streams due`() {
        append(1, "a", at: 0)
        #expect(ledger.limit(start + 71) == 32)
        #expect(ledger.limit(start + 73) == 256)
        #expect(!ledger.isFull(start + 89) && ledger.isFull(start + 90))
        append(2, "b", bytes: StreamTimes.journalBytes, at: 60)
        #expect(ledger.isFull(start + 60) && due(60) == ["a", "b"])
    }

    @Test mutating func `beyond three quarters of its size all streams are due, and items still go to the journal`() {
        let commit = append(1, "a", bytes: StreamTimes.journalBytes / 4 * 3, at: 0)
        #expect(due(2) == ["a"])
        #expect(ledger.limit(start + 2) == 256 && !ledger.isFull(start + 2))
        append(2, "b", at: 2)
        ledger.release(commit)
        let removable = ledger.removable()
        #expect(removable == 1)
        ledger.removed()
        #expect(due(4) == [] && due(72) == ["b"])
    }

    @Test func `what is removable never reaches a stream with items in the journal alone`() {
        var random = SeededRandom()
        for _ in 0..<100 {
            var ledger = JournalLedger<Int>()
            // The streams' commits, by their last record.
            var oldest: [Int: (commit: Int, sequence: Int64)] = [:]
            var last: Int64 = 0
            var removed: Int64 = 0
            for step in 1...200 {
                let now = start + Double(step)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    last += Int64.random(in: 1...3, using: &random)
                    let commit = ledger.append(through: last, bytes: 1, now)
                    for stream in 0..<5 where oldest[stream] == nil && Bool.random(using: &random) {
                        ledger.add(stream, to: commit)
                        oldest[stream] = (commit, last)
                    }
                case 1:
                    let due = ledger.due(now, limit: 2) { oldest[$0]?.commit == $1 }
                    for stream in due {
                        if let known = oldest.removeValue(forKey: stream) { ledger.release(known.commit) }
                    }
                case 2: ledger.deleted(now)
                default:
                    guard let sequence = ledger.removable() else { break }
                    #expect(sequence > removed && sequence <= last, "seed \(random.seed)")
                    #expect(oldest.values.allSatisfy { $0.sequence > sequence }, "seed \(random.seed)")
                    removed = sequence
                    ledger.removed()
                }
            }
            for known in oldest.values { ledger.release(known.commit) }
            _ = ledger.removable()
            ledger.removed()
            #expect(ledger.bytes == 0 && ledger.oldest == nil, "seed \(random.seed)")
        }
    }
}
