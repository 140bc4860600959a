import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

@Suite struct ExportCommandAgainTests {
    private let session = FetchSession()

    @Test func `the request repeats until the reply, and a newer status ends the wait`() async throws {
        let system = try FetchSystem { [session] request, number in
            #expect(request.action == .export(.upload))
            guard number == 3 else { return [] }
            return [
                session.status(.upload, .pending, revision: 11), session.reply(request),
                session.status(.upload, .exporting, revision: 12), session.status(.upload, .done, revision: 13),
            ]
        }
        try await system.publish([session.status(.upload, .failed, revision: 10, reason: "413")])
        let began = system.clock.now
        try await system.run(session.key, "--again", "--target", "upload")
        #expect(system.text == "(upload: pending)(upload: exporting)upload: done\n")
        #expect(Set(system.requests.map(\.id)).count == 1)
        #expect(system.requests.count == 3)
        #expect((9.9...12).contains(system.clock.now.seconds(since: began)))
    }

    @Test func `a failure is an error with its reason`() async throws {
        let system = try FetchSystem { [session] request, _ in
            [session.reply(request), session.status(.upload, .failed, revision: 2, reason: "the server answered 413")]
        }
        try await system.publish([session.status(.upload, .done, revision: 1)])
        let error = await #expect(throws: DeliveryFailure.self) {
            try await system.run(session.key, "--again", "--target", "upload")
        }
        #expect(error?.description == "upload: failed: the server answered 413")
    }

    @Test func `a failed attempt is printed, and the command keeps waiting`() async throws {
        let system = try FetchSystem { [session] request, _ in
            var status = ExportStatus(
                key: session.key, target: .upload, revision: 2, status: .pending, workout: 30, attempts: 1)
            status.reason = "the server answered 500"
            status.nextAttemptAt = FetchSession.start
            return [
                session.reply(request), session.message(.export(.upload), JSONCoding.encode(status)),
                session.status(.upload, .done, revision: 3),
            ]
        }
        try await system.run(session.key, "--again", "--target", "upload")
        #expect(
            system.text
                == "(upload: pending, the server answered 500, next try at 2023-11-14T22:13:20Z)upload: done\n")
    }

    @Test func `without --target it waits for all targets but HealthKit, and a failure is an error`() async throws {
        let system = try FetchSystem { [session] request, _ in
            #expect(request.action == .export(nil))
            return [
                session.status(.folder, .pending, revision: 2), session.status(.upload, .pending, revision: 2),
                session.status(.healthKit, .exporting, revision: 2), session.reply(request),
                session.status(.folder, .done, revision: 3, files: ["ann/run.fit", "ann/run.gpx"]),
                session.status(.upload, .failed, revision: 3, reason: "401"),
            ]
        }
        await #expect(throws: DeliveryFailure.self) { try await system.run(session.key, "--again") }
        #expect(system.text.hasSuffix("folder: done: ann/run.fit, ann/run.gpx\n"))
        #expect(system.text.contains("(healthkit: waiting for the phone)"))
    }

    @Test func `a refusal is an error with the exporter's message`() async throws {
        let system = try FetchSystem { [session] request, _ in [session.reply(request, .sessionNotFound)] }
        let error = await #expect(throws: DeliveryFailure.refused(session.key, .sessionNotFound)) {
            try await system.run(session.key, "--again")
        }
        #expect(error?.description == "the exporter has no workout \(session.key.session) of ann")
    }

    @Test func `a target without a new delivery prints its status`() async throws {
        let system = try FetchSystem { [session] request, _ in [session.reply(request)] }
        try await system.publish([session.status(.healthKit, .done, revision: 7)])
        try await system.run(session.key, "--again", "--target", "healthkit")
        #expect(system.text == "healthkit: done\n")
    }

    @Test func `a silent or idle exporter is an error`() async throws {
        let silent = try FetchSystem()
        await #expect(throws: DeliveryFailure.noReply) { try await silent.run(session.key, "--again") }
        #expect(silent.requests.count == 12)
        let idle = try FetchSystem { [session] request, _ in [session.reply(request)] }
        await #expect(throws: DeliveryFailure.noStatus) { try await idle.run(session.key, "--again") }
        let unreachable = try FetchSystem()
        unreachable.cut()
        await #expect(throws: DeliveryFailure.noConnection) { try await unreachable.run(session.key, "--again") }
    }

    @Test func `five minutes without news end the wait`() throws {
        let now = Moment(FetchSession.start)
        let client = Client("pacebus-0123456789abcdef")!
        var watch = DeliveryWatch(session.key, target: .upload, client: client, id: CommandID(UUID()), now: now)
        watch.connected(now)
        let message = try #require(try watch.takeRequest(now))
        let request = try JSONCoding.decode(SessionRequest.self, from: message.payload)
        _ = try watch.receive(session.reply(request), now)
        let news = try watch.receive(session.status(.upload, .pending, revision: 2), now + 50)
        let status = try #require(news)
        #expect(try watch.takeRequest(now + 349) == nil)
        let error = #expect(throws: DeliveryFailure.open([status])) { try watch.takeRequest(now + 350) }
        #expect(error?.description == "upload: pending; the exporter continues")
    }

    @Test func `Ctrl-C prints that the exporter continues`() async throws {
        let system = try FetchSystem { [session] request, _ in
            [session.reply(request), session.status(.upload, .pending, revision: 2)]
        }
        let service = try system.service(session.key, ["--again"])
        await #expect(throws: Interrupted("the exporter continues")) {
            try await system.interrupt(service) {
                try #require(await eventually { system.text.contains("pending") })
            }
        }
    }
}
