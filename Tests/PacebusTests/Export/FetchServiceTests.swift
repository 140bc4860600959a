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

    private func content(_ system: FetchSystem) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: system.folder.file("run.fit"))))
    }

    private func from(_ system: FetchSystem) -> [Int] {
        system.requests.map { if case .file(_, let from) = $0.action { from } else { -1 } }
    }

    @Test func `the file is asked for in windows`() async throws {
        let bytes = session.bytes(40)
        let system = try FetchSystem { [session] request, _ in session.parts(bytes, request).shuffled() }
        let began = system.clock.now
        try await system.run(session.key)
        #expect(system.clock.now.seconds(since: began) < 1)
        #expect(try content(system) == bytes)
        #expect(from(system) == [0, 16, 32] && Set(system.requests.map(\.id)).count == 3)
        #expect(system.text.hasSuffix("(100 %)\(system.folder.file("run.fit")), \(bytes.count) bytes\n"))
        #expect(try system.files == ["run.fit"])
    }

    @Test func `a request is repeated until all its parts are there`() async throws {
        let bytes = session.bytes(18)
        let system = try FetchSystem { [session] request, number in
            let parts = session.parts(bytes, request)
            return number == 1 ? [] : number == 2 ? parts.filter { _ in Bool.random() }.dropLast() : parts + parts
        }
        try await system.run(session.key)
        #expect(try content(system) == bytes)
        #expect(from(system) == [0, 0, 0, 16] && Set(system.requests.map(\.id)).count == 2)
    }

    @Test func `a lost connection does not end the fetch`() async throws {
        let bytes = session.bytes(18)
        let system = try FetchSystem { [session] request, number in
            number > 1 ? session.parts(bytes, request) : Array(session.parts(bytes, request).prefix(3))
        }
        try await system.run(try system.service(session.key)) { tick in
            if tick == 20 { system.cut() }
            if tick == 40 { system.connect() }
        }
        #expect(try content(system) == bytes)
    }

    @Test func `a workout that changes is read from the start again`() async throws {
        let (old, new) = (session.bytes(20), session.bytes(18, seed: 9))
        let system = try FetchSystem { [session] request, number in
            number == 1 ? session.parts(old, request) : session.parts(new, request, workout: 31)
        }
        try await system.run(session.key)
        #expect(try content(system) == new)
        #expect(from(system) == [0, 16, 0, 16])
    }

    @Test func `a file that has become shorter is read from the start again`() async throws {
        let system = try FetchSystem { [session] request, number in
            switch number {
            case 1: session.parts(session.bytes(20), request)
            case 2: [session.reply(request, .invalidCommand("from: the file has 2 parts, from 0"))]
            default: session.parts(session.bytes(2), request, workout: 31)
            }
        }
        try await system.run(session.key)
        #expect(try content(system) == session.bytes(2))
        #expect(from(system) == [0, 16, 0])
    }

    @Test func `a workout that keeps changing is an error`() async throws {
        let system = try FetchSystem { [session] request, number in
            session.parts(session.bytes(20), request, workout: Int64(number))
        }
        await #expect(throws: FetchFailure.unsettled) { try await system.run(session.key) }
        #expect(try system.files.isEmpty)
    }

    @Test func `a workout that the exporter does not have yet is asked for again`() async throws {
        let system = try FetchSystem { [session] request, number in
            number < 3 ? [session.reply(request, .sessionNotFound)] : session.parts(session.bytes(1), request)
        }
        let began = system.clock.now
        try await system.run(session.key)
        #expect((9.9...11).contains(system.clock.now.seconds(since: began)))
    }

    @Test func `an unknown workout is an error after three requests`() async throws {
        let system = try FetchSystem { [session] request, _ in [session.reply(request, .sessionNotFound)] }
        let began = system.clock.now
        await #expect(throws: FetchFailure.noWorkout(session.key)) { try await system.run(session.key) }
        #expect(system.requests.count == 3)
        #expect(system.clock.now.seconds(since: began) < 16)
    }

    @Test func `a refusal is an error with its text, unless it says when to ask again`() async throws {
        let failed = Refusal(code: "file_failed", message: "series or track are corrupt")
        let often = Refusal(code: "too_many_requests", message: "too many", retryAfter: 70)
        let system = try FetchSystem { [session] request, number in
            [session.reply(request, number == 1 ? often : failed)]
        }
        let began = system.clock.now
        let error = await #expect(throws: FetchFailure.refused(session.key, failed)) {
            try await system.run(session.key)
        }
        #expect(error?.description == failed.message && system.clock.now.seconds(since: began) >= 70)
    }

    @Test func `an exporter that does not answer is an error`() async throws {
        let system = try FetchSystem()
        let error = await #expect(throws: FetchFailure.noAnswer) { try await system.run(session.key) }
        #expect(error?.description.contains("exporter") == true)
    }

    @Test func `a command without a broker fails`() async throws {
        let system = try FetchSystem()
        system.cut()
        await #expect(throws: FetchFailure.noConnection) { try await system.run(session.key) }
    }

    @Test(arguments: [SessionStatus.preparing, .active, .paused, .suspended])
    func `an unfinished session is an error at once`(status: SessionStatus) async throws {
        let system = try FetchSystem { [session] request, _ in [session.reply(request, .sessionNotFound)] }
        try await system.publish([session.state(status)])
        let began = system.clock.now
        await #expect(throws: FetchFailure.unfinished(session.key, status)) { try await system.run(session.key) }
        #expect(system.clock.now.seconds(since: began) < 1)
    }

    @Test func `a canceled or deleted session is an error at once`() async throws {
        let system = try FetchSystem { [session] request, _ in [session.reply(request, .sessionNotFound)] }
        try await system.publish([session.state(.canceled, endReason: "expired")])
        await #expect(throws: FetchFailure.canceled(session.key, reason: "expired")) {
            try await system.run(session.key)
        }
        let other = try FetchSystem()
        try await other.publish([session.state(.deleted)])
        await #expect(throws: FetchFailure.deleted(session.key)) { try await other.run(session.key) }
        #expect(try other.files.isEmpty)
    }

    /// Each change makes the reply no part of the requested file.
    @Test(arguments: [
        "\"n\":0": "\"n\":1", "\"of\":1": "\"of\":0", "-evening": "/../-evening", ".fit": ".csv",
        "\"x\":\"": "\"x\":\"!",
        "\"workout\":30": "\"workout\":\"30\"", "\"file\"": "\"fill\"",
    ])
    func `an invalid reply is an error that names its topic`(text: String, wrong: String) async throws {
        let system = try FetchSystem { [session] request, _ in
            session.parts(session.bytes(1), request).map { message in
                let payload = String(decoding: message.payload, as: UTF8.self)
                return MQTTMessage(
                    topic: message.topic, payload: Array(payload.replacing(text, with: wrong).utf8), qos: .atLeastOnce)
            }
        }
        let error = await #expect(throws: FetchFailure.self) { try await system.run(session.key) }
        #expect(error?.description.contains("/replies/") == true)
        #expect(try system.files.isEmpty)
    }

    @Test func `Ctrl-C leaves no file`() async throws {
        let system = try FetchSystem { [session] request, _ in
            Array(session.parts(session.bytes(2), request).prefix(1))
        }
        let service = try system.service(session.key)
        await #expect(throws: Interrupted.self) {
            try await system.interrupt(service) { try await system.clock.waitForSleepers() }
        }
        #expect(try system.files.isEmpty)
    }
}
