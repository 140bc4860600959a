import Testing

@testable import MQTT

@Suite struct TopicTableTests {
    private let start = ContinuousClock.now

    @Test func `topics without a message in a period are forgotten, others keep their object`() {
        var table = TopicTable(limit: 1_000) { QueueRule(owner: String($0.prefix(3)), kind: .items) }
        table.tick(now: start)
        let live = find("ann/live", in: &table)
        weak let ben = find("ben/live", in: &table).owner
        for period in 1...5 {
            for number in 0..<100 { _ = find("ann/chunk/\(period)/\(number)", in: &table) }
            #expect(find("ann/live", in: &table) === live)
            table.tick(now: start + TopicTable.period * period - .seconds(1))
            #expect(table.count <= 203)
            table.tick(now: start + TopicTable.period * period)
            #expect(table.count == (period == 1 ? 102 : 101) && (ben == nil) == (period > 1))
        }
        table.tick(now: start + TopicTable.period * 6)
        #expect(table.count == 0)
    }

    @Test func `any number of topics is bounded`() {
        var table = TopicTable(limit: 10) { QueueRule(owner: $0, kind: .items) }
        for number in 0..<100 {
            #expect(find("topic/\(number)", in: &table).name == "topic/\(number)")
            #expect(table.count <= 20)
        }
    }

    private func find(_ name: String, in table: inout TopicTable) -> FairQueue.Topic {
        name.withCString { table.topic($0) }
    }
}
