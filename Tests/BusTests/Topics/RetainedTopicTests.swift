import Bus
import TestSupport
import Testing
import Workouts

@Suite struct SeenRevisionTests {
    @Test(arguments: [0, 1, 1_767_225_600_000, 1 << 53] as [Int64])
    func `a revision in range is read`(revision: Int64) throws {
        let text = "{\"revision\":\(revision),\"status\":{\"more\":[]}}"
        #expect(try JSONCoding.decode(SeenRevision.self, from: text.utf8).revision == revision)
    }

    @Test(arguments: [
        "-1", "\(Int64(1) << 53 + 1)", "\(Int64.max)", "\(Int64.min)", "null", "\"7\"", "true", "[7]",
    ])
    func `any other revision is refused, and named`(revision: String) {
        let error = #expect(throws: PayloadError.self) {
            try JSONCoding.decode(SeenRevision.self, from: "{\"revision\":\(revision)}".utf8)
        }
        guard let message = error?.text else { return }
        #expect(message.hasPrefix("revision: "), "\(message)")
    }

    @Test(arguments: ["9223372036854775808", "1e300", "1e999", "1.5"])
    func `a number that is no integer of 64 bits is refused`(revision: String) {
        #expect(throws: PayloadError.self) {
            try JSONCoding.decode(SeenRevision.self, from: "{\"revision\":\(revision)}".utf8)
        }
    }

    @Test func `without a revision it is refused`() {
        let error = #expect(throws: PayloadError.self) {
            try JSONCoding.decode(SeenRevision.self, from: "{}".utf8)
        }
        #expect(error == .malformed("revision: missing", field: "revision"))
    }
}

@Suite struct RetainedTopicTests {
    private static let now = Timestamp(seconds: 1_767_225_600)

    /// A topic at revision 10 whose last revisions were published on this connection.
    private func topic(published: [Int64]) -> RetainedTopic {
        var topic = RetainedTopic(revision: 10)
        for revision in published { topic.published(revision) }
        return topic
    }

    @Test(arguments: [(0, 0), (0, 7), (1_767_225_600_000, 0), (1 << 50, 0), (5, 1 << 50)] as [(Int64, Int64)])
    func `a new revision is above the previous one and the other one, and not below the clock`(
        previous: Int64, other: Int64
    ) {
        var topic = RetainedTopic(revision: previous)
        let revision = topic.revise(Self.now, above: other)
        #expect(revision == max(previous + 1, other + 1, Self.now.milliseconds))
        #expect(topic.revision == revision)
    }

    @Test(
        arguments: [
            (9, [], .republish), (10, [], .known), (11, [], .revised), (5, [5, 8, 10], .known),
            (8, [5, 8, 10], .known), (7, [5, 8, 10], .republish), (4, [5, 8, 10], .republish),
            (11, [5, 8, 10], .revised),
        ] as [(Int64, [Int64], RetainedTopic.Seen)])
    func `a newer revision is exceeded, an echo is ignored, an older revision is answered`(
        seen: Int64, published: [Int64], expected: RetainedTopic.Seen
    ) {
        var topic = topic(published: published)
        #expect(topic.see(seen, Timestamp(microseconds: 0)) == expected)
        #expect(topic.revision == (expected == .revised ? seen + 1 : 10))
    }

    @Test func `after a reconnect an echo of the old connection is answered`() {
        var topic = topic(published: [5, 8, 10])
        topic.reconnected()
        #expect(topic.see(8, Self.now) == .republish)
        #expect(topic.see(10, Self.now) == .known)
    }

    @Test func `the latest published revisions count as echoes, each once`() {
        let limit = Int64(RetainedTopic.limit)
        var topic = RetainedTopic(revision: limit + 4)
        for revision in 1...limit + 3 {
            topic.published(revision)
            topic.published(revision)
        }
        let known = (1...limit + 3).filter { topic.see($0, Self.now) == .known }
        #expect(known == Array(4...limit + 3))
    }

    @Test func `raising to an older revision changes nothing`() {
        var topic = RetainedTopic(revision: 10)
        topic.raise(to: 9)
        #expect(topic.revision == 10)
        topic.raise(to: 12)
        #expect(topic.revision == 12)
    }

    @Test func `it is stored as its revision`() throws {
        let topic = topic(published: [9, 10])
        let bytes = JSONCoding.encode([topic])
        #expect(bytes == Array("[10]".utf8))
        #expect(try JSONCoding.decode([RetainedTopic].self, from: bytes) == [RetainedTopic(revision: 10)])
    }

    /// The owner publishes. The broker echoes late, loses messages, and delivers old and foreign revisions.
    @Test func `in any order revisions only rise and the newest ends up on the topic`() {
        var random = SeededRandom()
        var topic = RetainedTopic(revision: 0)
        var retained: Int64?
        var history: [Int64] = []
        var inbox: [Int64] = []
        func publish() {
            topic.published(topic.revision)
            retained = topic.revision
            history.append(topic.revision)
            inbox.append(topic.revision)
        }
        func receive(_ seen: Int64) {
            let before = topic.revision
            // The clock may show any time.
            let answer = topic.see(seen, Self.now + Double.random(in: -1e6...1e6, using: &random))
            #expect(topic.revision >= before && topic.revision >= seen)
            if answer != .known { publish() }
        }
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                topic.revise(Self.now + Double.random(in: -1e6...1e6, using: &random))
                publish()
            case 2:
                if !inbox.isEmpty { receive(inbox.removeFirst()) }
            case 3:
                topic.reconnected()
                inbox = retained.map { [$0] } ?? []
            case 4:
                // A broker restarts from an old autosave.
                retained = history.randomElement(using: &random)
                topic.reconnected()
                inbox = retained.map { [$0] } ?? []
            default:
                // A former owner publishes.
                retained = topic.revision + Int64.random(in: 1...1_000_000, using: &random)
                if let retained { inbox.append(retained) }
            }
        }
        // The owner receives the retained message until it publishes nothing more.
        while !inbox.isEmpty { receive(inbox.removeFirst()) }
        if let last = retained { receive(last) }
        #expect(retained == nil || retained == topic.revision)
    }
}
