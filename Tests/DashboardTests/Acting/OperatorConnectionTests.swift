import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// The operator's own connection to a real broker, with a clock of the test.
@Suite(.timeLimit(.minutes(60)))
struct OperatorConnectionTests {
    private func login(_ password: String) -> Login {
        Login(id: LoginToken().id, account: .operators, password: Secret(password), rights: .init(seen: []))
    }

    @Test
    func
        `the connection reads what is rejected while the page is watched and 30 s more, and reports a refused password`()
        async throws
    {
        var broker = Mosquitto.Settings()
        broker.users = ["_operator": "op", "_exporter": "exporter"]
        broker.accessRules = """
            user _operator
            topic read pacebus/v1/#
            topic read $SYS/#
            user _exporter
            topic write pacebus/v1/rejected/_exporter

            """
        let mosquitto = try await Mosquitto(broker)
        defer { mosquitto.kill() }
        var settings = MQTTConfiguration(clientID: "test")
        settings.port = mosquitto.port
        let clock = ManualClock()
        let connection = OperatorConnection(
            clock: clock, accounts: BrokerAccounts(settings: settings, clock: SystemClock()))
        let (refusals, refused) = AsyncStream.makeStream(of: RightsProbes.Credential.self)
        let folder = try TemporaryFolder()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await connection.run { refused.yield($0) } }
            connection.keep()
            #expect(!connection.isOpen, "no login has opened it")
            connection.use(login("op"))
            try #require(await eventually { connection.news.since != nil })
            let isRead = try await eventually {
                try await ChildProcess.run(
                    [
                        "mosquitto_pub", "-p", "\(mosquitto.port)", "-u", "_exporter", "-P", "exporter", "-t",
                        "pacebus/v1/rejected/_exporter", "-m", #"{"at":1,"reason":"malformed","topic":"a/b"}"#,
                    ], log: folder.file("pub.log"))
                return !connection.news.rejected.isEmpty
            }
            #expect(isRead)
            let rejected = BrokerNews.Rejected(
                at: Timestamp(seconds: 1), service: "exporter", topic: "a/b", reason: "malformed")
            #expect(connection.news.rejected.first == rejected)
            #expect(await eventually { connection.news.figures[.clients] != nil })

            try await clock.waitForSleepers()
            clock.advance(by: .seconds(29))
            connection.keep()
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(29))
            #expect(connection.isOpen)
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(2))
            #expect(await eventually { !connection.isOpen })
            #expect(connection.news.since == nil && connection.news.rejected.isEmpty)

            connection.use(login("wrong"))
            let wrong = RightsProbes.Credential(account: .operators, password: Secret("wrong"))
            for await credential in refusals.prefix(1) { #expect(credential == wrong) }
            #expect(await eventually { !connection.isOpen })
            tasks.cancelAll()
        }
    }
}
