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

@Suite struct FetchServiceTests {
    private let session = FetchSession()

    private func everything(_ session: FetchSession, _ revision: Int64 = FetchSession.revision) -> [MQTTMessage] {
        session.final(.series, revision) + session.final(.track, revision) + [session.workout]
    }

    private func content(_ system: FetchSystem, _ name: String = "run.fit") throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: system.folder.file(name))))
    }

    @Test func `the retained workout makes the first request due at once`() async throws {
        let system = try FetchSystem { [session] _, _ in session.final(.series) + session.final(.track) }
        try await system.publish([session.workout])
        let began = system.clock.now
        try await system.run(session.key)
        #expect(system.clock.now.seconds(since: began) < 1)
        #expect(try content(system) == ExportFormat.fit.bytes(of: session.exported))
        #expect(system.requests.count == 1)
        let size = try content(system).count
        #expect(system.text.hasSuffix("(5 of 5 chunks)\(system.folder.file("run.fit")), \(size) bytes\n"))
        #expect(try system.files == ["run.fit"])
    }

    @Test func `missing messages are requested repeatedly`() async throws {
        let system = try FetchSystem { [session] request, number in
            #expect(request.action == .chunks)
            guard number > 2 else { return [] }
            return (session.final(.series) + session.final(.track) + [session.workout]).map { message in
                var message = message
                message.retain = false
                return message
            }
        }
        let began = system.clock.now
        try await system.run(session.key, "--format", "csv")
        #expect(try content(system) == ExportFormat.csv.bytes(of: session.exported))
        #expect(Set(system.requests.map(\.id)).count == 1)
        #expect(system.requests.count == 3)
        // 2 s after the connect, then every 5 s.
        #expect((11.9...13).contains(system.clock.now.seconds(since: began)))
    }

    @Test func `chunks of an older revision are ignored`() async throws {
        let old = FetchSession(shift: 40)
        let outdated = old.final(.series, FetchSession.revision - 1).map { message in
            // Older messages of this session.
            let topic = message.topic.replacing("\(old.key.session)", with: "\(session.key.session)")
                .replacing("/\(old.key.session.shard)/", with: "/\(session.key.session.shard)/")
            return MQTTMessage(topic: topic, payload: message.payload, qos: message.qos, retain: message.retain)
        }
        let system = try FetchSystem { [session] _, _ in outdated + session.final(.series) + session.final(.track) }
        try await system.publish([session.workout])
        try await system.run(session.key)
        #expect(try content(system) == ExportFormat.fit.bytes(of: session.exported))
        #expect(system.requests.count == 1)
    }

    @Test func `a lost connection does not end the fetch`() async throws {
        let system = try FetchSystem { [session] _, number in
            switch number {
            case 1: session.final(.track)
            case 2: session.final(.series)
            default: []
            }
        }
        try await system.publish([session.workout])
        try await system.run(try system.service(session.key)) { tick in
            if tick == 60 { system.cut() }
            if tick == 80 { system.connect() }
        }
        #expect(try content(system) == ExportFormat.fit.bytes(of: session.exported))
    }

    @Test func `a missing series is an error that names its service`() async throws {
        let system = try FetchSystem { [session] _, _ in session.final(.track) + [session.final(.series)[0]] }
        try await system.publish([session.workout])
        let began = system.clock.now
        let error = await #expect(throws: FetchFailure.missing(.series, count: 1, total: nil)) {
            try await system.run(session.key)
        }
        #expect(error?.description == "no summary of the workout's series arrived; check that metrics-aggregator runs")
        // The repeated track was no news.
        #expect(system.clock.now.seconds(since: began) < 70)
        #expect(try system.files.isEmpty)
    }

    @Test func `an unknown workout is an error after three requests`() async throws {
        let system = try FetchSystem()
        let began = system.clock.now
        await #expect(throws: FetchFailure.noWorkout(session.key)) { try await system.run(session.key) }
        #expect(system.requests.count == 3)
        #expect(system.clock.now.seconds(since: began) < 16)
    }

    @Test func `a missing workout of a completed session is an error`() async throws {
        let system = try FetchSystem()
        try await system.publish([session.state(.completed)])
        await #expect(throws: FetchFailure.notSaved(session.key)) { try await system.run(session.key) }
    }

    @Test func `a command without a broker fails`() async throws {
        let system = try FetchSystem()
        system.cut()
        await #expect(throws: FetchFailure.noConnection) { try await system.run(session.key) }
    }

    @Test(arguments: [SessionStatus.preparing, .active, .paused, .suspended])
    func `an unfinished session is an error at once`(status: SessionStatus) async throws {
        let system = try FetchSystem()
        try await system.publish([session.state(status)])
        let began = system.clock.now
        await #expect(throws: FetchFailure.unfinished(session.key, status)) { try await system.run(session.key) }
        #expect(system.clock.now.seconds(since: began) < 3)
    }

    @Test func `a canceled or deleted session is an error at once`() async throws {
        let system = try FetchSystem()
        try await system.publish([session.state(.canceled, endReason: "expired")])
        await #expect(throws: FetchFailure.canceled(session.key, reason: "expired")) {
            try await system.run(session.key)
        }
        let other = try FetchSystem()
        try await other.publish(everything(session) + [session.state(.deleted)])
        await #expect(throws: FetchFailure.deleted(session.key)) { try await other.run(session.key) }
        #expect(try other.files.isEmpty)
    }

    @Test func `an invalid payload is an error that names its topic`() async throws {
        let system = try FetchSystem()
        try await system.publish([session.message(.workout, [UInt8](#"{"revision":1}"#.utf8))])
        let error = await #expect(throws: FetchFailure.self) { try await system.run(session.key) }
        #expect(error?.description.contains("/workout: ") == true)
    }

    @Test func `Ctrl-C leaves no file`() async throws {
        let system = try FetchSystem()
        try await system.publish([session.workout])
        let service = try system.service(session.key)
        await #expect(throws: Interrupted.self) {
            try await system.interrupt(service) { try await system.clock.waitForSleepers() }
        }
        #expect(try system.files.isEmpty)
    }
}
