import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@Suite(.disabled(if: AsyncAPIDocument.isUnreadable, "PYTHON has no jsonschema and PyYAML"))
struct AsyncAPITests {
    @Test func `the document is valid`() async throws {
        guard let problems = try await AsyncAPIDocument.read().document else {
            print("skipped: SCHEMAS_DIR is not set, asyncapi.yaml is not held against AsyncAPI's schema")
            return
        }
        #expect(problems == [])
    }

    @Test func `each topic of the code is a channel of the document and each channel a topic`() async throws {
        var random = SeededRandom()
        let channels = try await AsyncAPIDocument.read().channels
        var found: Set<String> = []
        for topic in random.topics() {
            let matching = try channels.filter { try $0.regex.wholeMatch(in: topic.name) != nil }
            #expect(matching.count == 1, "\(topic.name): \(matching.map(\.name))")
            guard let channel = matching.first else { continue }
            found.insert(channel.name)
            let isFree = ["samples", "locations", "importParts"].contains(channel.name)
            #expect(channel.qos == (isFree ? [0, 1] : [topic.qos.rawValue]), "\(channel.name)")
            #expect(channel.retain == topic.isRetained, "\(channel.name)")
            let readers = topic.row.map { row in
                row.readers.map(\.rawValue) + ["user"] + (row.isForViewers ? ["viewer"] : [])
            }
            #expect(channel.from == topic.row?.senders.map(\.rawValue) ?? [], "\(channel.name)")
            #expect(channel.to == readers ?? [], "\(channel.name)")
        }
        #expect(found == Set(channels.map(\.name)))
    }

    @Test func `the code accepts a name exactly if the document's patterns do`() async throws {
        var random = SeededRandom()
        let levels = [
            "a", "watch-1", "a_b", "-a", "_a", "_session-engine", "_", "A", "", "+", "#", "0", "00", "7", "99999",
            "100000", "ff", "FF", "anna.b", "é", "6f9619ff-8b86-d011-b42d-00c04fc964ff",
            "6F9619FF-8b86-d011-b42d-00c04fc964ff", "6f9619ff-8b86-d011-b42d-00c04fc964f", "request",
            String(repeating: "x", count: 64), String(repeating: "x", count: 65),
        ]
        for channel in try await AsyncAPIDocument.read().channels {
            let regex = try channel.regex
            for _ in 0..<200 {
                let name = channel.patterns.keys.sorted().reduce(channel.address) { name, parameter in
                    let isUsual = Int.random(in: 0..<3, using: &random) > 0
                    let usual = [
                        "shard": "ff", "user": "anna", "session": levels[20], "run": levels[20], "service": "_a",
                        "n": "7",
                    ]
                    let level = isUsual ? usual[parameter] ?? "a" : levels.randomElement(using: &random)!
                    return name.replacing("{\(parameter)}", with: level)
                }
                // The shard must match the session.
                guard !name.hasPrefix("pacebus/v1/00/") else { continue }
                let isTopic = try regex.wholeMatch(in: name) != nil
                #expect((Topic(name) != nil) == isTopic, "\(name)")
            }
        }
    }

    @Test func `activities are those of the code`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Shared/Bus/asyncapi.yaml")
        let text = try String(contentsOf: file, encoding: .utf8)
        let list = try #require(
            text.firstMatch(of: /\n    activity:\n      type: string\n      enum:\n((?: +- \w+\n)+)/))
        #expect(list.1.matches(of: /\w+/).map { String($0.0) } == Activity.allCases.map(\.rawValue))
    }

    @Test func `payloads of the code match the document`() async throws {
        var random = SeededRandom()
        var payloads: [AsyncAPIDocument.Payload] = []
        for _ in 0..<5 { payloads += try random.payloads() }
        let document = try await AsyncAPIDocument.read(checking: payloads)
        #expect(document.payloads.flatMap(\.self) == [])
        #expect(Set(document.undescribed.flatMap(\.self)) == [])
        let written = Set(payloads.map(\.channel)).union(["presence", "rejected", "account", "limited"])
        #expect(written == Set(document.channels.filter(\.described).map(\.name)))
    }

    @Test func `a payload with a missing key or a wrong type violates the document`() async throws {
        var random = SeededRandom()
        let required = [
            "command": "id", "state": "segments", "samples": "s", "samplesAck": "n", "heardSamples": "gaps",
            "heardLocations": "n", "userRejected": "topic", "metrics": "pa",
            "announcements": "at", "summaryMetrics": "next", "series": "columns", "workout": "activeDuration",
            "locations": "x", "locationsAck": "n", "route": "pl", "summaryRoute": "splits", "track": "of",
            "weather": "condition", "request": "type", "export": "attempts", "exportResult": "ok",
            "activityRegister": "device", "activity": "devices", "plans": "plans", "coachRequest": "plan",
            "coachReply": "id",
            "current": "session", "profile": "revision", "sessionProfile": "revision",
            "replies": "now", "userRequest": "type",
            "viewerRequest": "type", "virtualRunRequest": "type", "virtualRun": "participants",
            "virtualRunPartners": "x", "virtualRunPositions": "x", "virtualRunPeople": "contacts",
            "virtualRunAnnouncements": "at", "notificationsRegister": "device", "signOut": "type",
            "signedOut": "logins", "importRequest": "type", "import": "sessions", "importParts": "x", "importAck": "n",
        ]
        var spoiled: [AsyncAPIDocument.Payload] = []
        for payload in try random.payloads() {
            let key = try #require(required[payload.channel])
            let object = try JSONSerialization.jsonObject(with: Data(payload.bytes)) as? [String: Any]
            var fields = try #require(object)
            // The other kind of ack.
            guard fields[key] != nil else { continue }
            for wrong in [nil, ["wrong": true]] as [Any?] {
                fields[key] = wrong
                let bytes = [UInt8](try JSONSerialization.data(withJSONObject: fields))
                spoiled.append(.init(channel: payload.channel, bytes: bytes))
            }
        }
        let problems = try await AsyncAPIDocument.read(checking: spoiled).payloads
        #expect(problems.count == spoiled.count)
        for (payload, problems) in zip(spoiled, problems) {
            #expect(!problems.isEmpty, "\(payload.channel): \(String(decoding: payload.bytes, as: UTF8.self))")
        }
    }

    @Test func `a refused command or request violates the document`() async throws {
        let refused = RefusedPayload.all.filter(\.isReported)
        let payloads = refused.map { AsyncAPIDocument.Payload(channel: $0.channel, bytes: Array($0.text.utf8)) }
        let problems = try await AsyncAPIDocument.read(checking: payloads).payloads
        #expect(problems.count == payloads.count)
        for (payload, problems) in zip(refused, problems) { #expect(!problems.isEmpty, "\(payload.text)") }
    }
}
