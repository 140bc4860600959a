import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

@Suite struct FetchTests {
    private let session = FetchSession()
    private let now = Moment(Timestamp(seconds: 1_735_689_600))
    private let client = Client("pacebus-0123456789abcdef")!

    private func fetch() -> WorkoutFetch {
        var fetch = WorkoutFetch(session.key, client: client, id: CommandID(UUID()), now: now)
        fetch.connected(now)
        return fetch
    }

    @Test func `messages in any order and number give the same workout`() throws {
        var random = SeededRandom()
        let old = session.final(.series, 10) + session.final(.track, 12)
        let new = session.final(.series) + session.final(.track) + [session.workout]
        for _ in 0..<Tier.runs(15, nightly: 50) {
            var fetch = fetch()
            var taken: ExportedWorkout?
            var messages = (old + new + new.filter { _ in Bool.random(using: &random) }).shuffled(using: &random)
            // A request repeats messages that arrived outdated.
            messages += new
            for message in messages where taken == nil {
                try fetch.receive(message, now)
                taken = try fetch.takeWorkout()
            }
            let file = try ExportFormat.json.file(of: try #require(taken))
            #expect(file == ExportFormat.json.bytes(of: session.exported))
        }
    }

    @Test func `progress counts the chunks of the newest revision once`() throws {
        var fetch = fetch()
        #expect(fetch.progress == "waiting for the workout")
        try fetch.receive(session.workout, now)
        #expect(fetch.progress == "0 chunks")
        for message in session.final(.track, 19) + session.final(.track) + session.final(.track) {
            try fetch.receive(message, now)
        }
        for message in session.final(.series).dropFirst() { try fetch.receive(message, now) }
        #expect(fetch.progress == "4 of 5 chunks")
        #expect(try fetch.takeWorkout() == nil)
    }

    @Test func `a kind without a summary in the workout is not needed`() throws {
        var record = session.record
        record.summaries["route"] = nil
        var fetch = fetch()
        for message in session.final(.series) { try fetch.receive(message, now) }
        try fetch.receive(session.message(.workout, JSONCoding.encode(record)), now)
        let taken = try fetch.takeWorkout()
        let rows = try ExportFormat.csv.file(of: try #require(taken)).count { $0 == UInt8(ascii: "\n") }
        #expect(rows == 1 + 1_200)
    }

    @Test func `only news extends the wait`() throws {
        var fetch = fetch()
        try fetch.receive(session.workout, now + 30)
        for message in session.final(.series).dropFirst() { try fetch.receive(message, now + 50) }
        for message in session.final(.series).dropFirst() { try fetch.receive(message, now + 100) }
        #expect(try fetch.takeRequest(now + 109) != nil)
        #expect(throws: FetchFailure.missing(.series, count: 2, total: 3)) { try fetch.takeRequest(now + 110) }
    }

    @Test func `an older or cleared workout changes nothing`() throws {
        var fetch = fetch()
        try fetch.receive(session.workout, now)
        var older = session.record
        older.revision -= 1
        older.name = "Outdated"
        try fetch.receive(session.message(.workout, JSONCoding.encode(older)), now)
        try fetch.receive(session.message(.workout, []), now)
        #expect(fetch.workout == session.record)
    }
}
