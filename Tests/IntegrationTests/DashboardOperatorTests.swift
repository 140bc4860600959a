import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// The operator's page with a real broker, its accounts and its access rules.
@Suite(.timeLimit(.minutes(60)))
struct DashboardOperatorTests {
    @Test
    func `the operator alone sees sessions, services, the broker's figures and a message that a service rejects`()
        async throws
    {
        let compose = try ComposeFolder()
        let anna = try await compose.addAccount("anna")
        try await compose.needAccounts("_session-engine", "_dashboard")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let engine = try compose.start("session-engine", on: broker)
        defer { engine.end(SIGTERM) }
        let dashboard = try await DashboardProcess(
            in: compose.folder, broker: "mqtt://_dashboard@127.0.0.1:\(broker.port)",
            environment: ["MQTT_PASSWORD_FILE=\(compose.folder.file("data/secrets/_dashboard"))"])
        #expect(try await dashboard.logIn("anna", anna.value) == 303)
        let session = SessionID(UUID())
        let started = try await dashboard.press(
            "start", #","session":"\#(session)","activity":"running","countdown":0"#, to: "/commands", pressed: Date(),
            as: "anna")
        #expect(started.ok)
        for path in ["/operator", "/operator/events"] {
            #expect(!(try await dashboard.read(path, as: "anna")).contains(session.description))
        }

        #expect(try await dashboard.logIn("_operator", try compose.password(of: "_operator").value) == 303)
        // The first page opens the operator's connection, which reads what is rejected from then on.
        var page = ""
        let isComplete = try await eventually {
            try await ChildProcess.run(
                [
                    "mosquitto_pub", "-p", "\(broker.port)", "-u", "anna", "-P", anna.value, "-t",
                    "pacebus/v1/u/anna/request", "-m", "{",
                ], log: compose.folder.file("pub.log"))
            page = try await dashboard.read("/operator", as: "_operator")
            return page.contains("<code>pacebus/v1/u/anna/request</code>") && !page.contains("<dt>Clients</dt><dd>--<")
        }
        #expect(isComplete, "\(page)")
        #expect(page.contains(#"<a href="/live/anna/\#(session)">anna</a><small>Running</small>"#))
        #expect(page.contains("No session silent; all services online."))
        #expect(page.contains("<strong>session-engine</strong>") && page.contains(": all sessions, version "))
        #expect(page.contains("<strong>malformed</strong>"))

        let stream = try await dashboard.read("/operator/events?status=active", as: "_operator", seconds: 5)
        #expect(stream.components(separatedBy: "event: overview\ndata: {").count > 2, "\(stream)")
        #expect(stream.contains(#""user":"anna""#) && !stream.contains("event: metrics"))
        // What the broker does not let the dashboard's own account read.
        #expect(stream.contains("pacebus/v1/u/anna/request"))

        // A service that stops is named.
        engine.end(SIGTERM)
        let isNamed = try await eventually {
            try await dashboard.read("/operator", as: "_operator").contains("session-engine offline.")
        }
        #expect(isNamed)
    }
}
