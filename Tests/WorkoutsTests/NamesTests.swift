import Foundation
import TestSupport
import Testing
import Workouts

@Suite struct NamesTests {
    @Test(arguments: ["a", "0", "anna_b-7", String(repeating: "z", count: 64)])
    func `a user name that matches the pattern is accepted`(text: String) {
        #expect(User(text)?.description == text)
    }

    @Test(arguments: [
        "", "-a", "_a", "A", "anna.b", "a b", "a/b", "a+", "#", "é", "ａ", "a\0", String(repeating: "z", count: 65),
    ])
    func `a user name that does not match the pattern is refused`(text: String) {
        #expect(User(text) == nil)
    }

    @Test(arguments: ["watch_3", "-watch", "Watch", ""])
    func `a device name with an underscore or an upper-case letter is refused`(text: String) {
        #expect(Device(text) == nil)
    }

    @Test(arguments: ["watch-3f9a": "watch", "watch": "watch", "treadmill-a-b": "treadmill"])
    func `the kind of a device is the word before the first dash`(name: String, kind: String) throws {
        #expect(try #require(Device(name)).kind == kind)
    }

    @Test(arguments: [
        "", "6f9619ff-8b86-d011-b42d-00c04fc964f",
        "6f9619ff8b86d011b42d00c04fc964ff", "{6f9619ff-8b86-d011-b42d-00c04fc964ff}",
        "6f9619ff-8b86-d011-b42d-00c04fc964ff0", "6f9619ff-8b86-d011-b42d-00c04fc964fg",
        "6f9619ff-8b86-d011-b42d-00c04fc964ff\0", " 6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "6f9619ff-8b86-d011-b42d0-0c04fc964ff",
    ])
    func `a session id that is not a UUID is refused`(text: String) {
        #expect(SessionID(text) == nil)
    }

    @Test func `a UUID is read in either case and written in lower case`() throws {
        let session = try #require(SessionID("6F9619FF-8b86-D011-B42D-00C04FC964FF"))
        #expect(session == SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff"))
        #expect(session.description == "6f9619ff-8b86-d011-b42d-00c04fc964ff")
        #expect(try json(session) == #""6f9619ff-8b86-d011-b42d-00c04fc964ff""#)
    }

    @Test func `ids are written and read like UUIDs, and sorted like their texts`() {
        var random = SeededRandom()
        var last = SessionID(UUID())
        for _ in 0..<1_000 {
            let uuid = UUID(
                uuid: (0..<16).reduce(into: UUID().uuid) { uuid, index in
                    withUnsafeMutableBytes(of: &uuid) { $0[index] = UInt8.random(in: 0...255, using: &random) }
                })
            let id = SessionID(uuid)
            #expect(id.description == uuid.uuidString.lowercased(), "seed \(random.seed)")
            #expect(SessionID(uuid.uuidString) == id && SessionID(id.description) == id)
            #expect((id < last) == (id.description < last.description))
            last = id
        }
    }

    @Test func `the shard of a session is its last two digits`() throws {
        let session = try #require(SessionID("6f9619ff-8b86-d011-b42d-00c04fc9640a"))
        #expect(session.description == "6f9619ff-8b86-d011-b42d-00c04fc9640a")
        #expect(session.shard.description == "0a")
    }

    @Test(arguments: ["0A", "a", "0a0", "+1", "0x", " a", "٠٠"])
    func `a shard that is not two lowercase hex digits is refused`(
        text: String
    ) {
        #expect(Shard(text) == nil)
    }

    @Test func `every shard is read back as written`() {
        #expect(Shard.all.count == 256)
        #expect(Shard.all.allSatisfy { Shard($0.description) == $0 })
    }

    @Test func `the shard of a user is the last byte of the CRC-32 of the name`() {
        // The check value of CRC-32 is cbf43926.
        #expect(User("123456789")?.shard == Shard(0x26))
    }

    @Test func `the partition of an account is the CRC-32 of its name modulo the number of brokers`() {
        #expect((1...9).map { Partition.index(of: "123456789", among: $0) } == (1...9).map { 0xcbf4_3926 % $0 })
    }

    @Test(arguments: ["samples", "samples/", "sample/watch", "samples/watch/ack", "samples/Watch", "/watch"])
    func `a stream name without a kind or device is refused`(text: String) {
        #expect(StreamName(text) == nil)
    }

    @Test func `stream names are keys of a JSON object`() throws {
        let streams = [StreamName("samples/watch-1")!: 3, StreamName("locations/phone")!: 4]
        #expect(try json(streams) == #"{"locations\/phone":4,"samples\/watch-1":3}"#)
        #expect(try JSONDecoder().decode([StreamName: Int].self, from: JSONEncoder().encode(streams)) == streams)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([StreamName: Int].self, from: Data(#"{"samples/+":1}"#.utf8))
        }
    }
}
