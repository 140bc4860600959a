import Foundation
import Storage
import Testing
import Workouts

@testable import Streams

struct StreamSearchTests {
    @Test func `the first and the last chunk are found with few reads`() throws {
        let key = SessionKey(User("demo")!, SessionID(UUID()))
        for count in Array(0...300) + [4_095, 4_096, 100_000] {
            var search = StreamSearch(key, Device("watch-1")!)
            var questions = 0
            while !search.isDone {
                for asked in search.keys {
                    questions += 1
                    let number = try #require(StreamStore.chunk(asked.key)).number
                    search.answer(number < count ? Array("\(number)".utf8) : nil)
                }
            }
            #expect(search.last?.number == (count == 0 ? nil : count - 1))
            #expect(search.last?.bytes == (count == 0 ? nil : Array("\(count - 1)".utf8)))
            #expect(search.first == (count == 0 ? nil : Array("0".utf8)))
            #expect(questions < 40)
        }
    }
}
