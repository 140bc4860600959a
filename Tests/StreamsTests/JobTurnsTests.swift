import Testing
import Workouts

@testable import Streams

@Suite struct JobTurnsTests {
    private let anna = User("anna")!
    private let ben = User("ben")!
    private let cleo = User("cleo")!

    @Test func `users take turns, and one who returns comes last`() throws {
        var turns = JobTurns(itemLimit: 100)
        var queue = turns.queue([ben, anna, cleo])
        #expect(queue == [anna, ben, cleo])
        let first = turns.begin(anna, items: 10)
        #expect(turns.hasJob(anna) && !turns.hasJob(ben))
        queue = turns.queue([ben, cleo])
        #expect(queue == [ben, cleo])
        turns.end(try #require(first))
        queue = turns.queue([anna, ben, cleo])
        #expect(queue == [ben, cleo, anna])
        queue = turns.queue([anna, cleo])
        #expect(queue == [cleo, anna])
    }

    @Test func `a job waits for a place and for room, but one alone may be larger`() throws {
        var turns = JobTurns(itemLimit: 100)
        let large = turns.begin(anna, items: 1_000)
        var other = turns.begin(ben, items: 1)
        #expect(other == nil)
        turns.end(try #require(large))
        #expect(turns.isEmpty)
        let second = turns.begin(ben, items: 60)
        other = turns.begin(cleo, items: 41)
        #expect(other == nil)
        other = turns.begin(cleo, items: 40)
        #expect(other != nil && !turns.hasRoom)
        other = turns.begin(anna, items: 0)
        #expect(other == nil)
        turns.end(try #require(second))
        #expect(turns.hasRoom)
    }
}
