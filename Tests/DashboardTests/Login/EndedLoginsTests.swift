import Bus
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct EndedLoginsTests {
    private static let now = ManualClock().moment
    private static let begun = now.wallClock
    private let login = Login(User("anna")!, Secret("x"), at: begun)

    private func message(_ topic: String, _ payload: String) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: Array(payload.utf8), qos: .atMostOnce, retain: true)
    }

    private func signedOut(_ account: String, _ payload: String) -> MQTTMessage {
        message("pacebus/v1/u/\(account)/signed-out", payload)
    }

    private static let engine = "pacebus/v1/services/_session-engine/session-engine-0123456789abcdef"

    @Test func `one login ends, or all that began before`() throws {
        var ended = EndedLogins()
        #expect(!ended.hasEnded(login))
        _ = try ended.receive(signedOut("ben", #"{"before":9e9,"logins":[],"revision":1}"#), Self.now)
        #expect(!ended.hasEnded(login))
        let account = try ended.receive(
            signedOut("anna", #"{"logins":[{"id":"\#(login.id)","at":1}],"revision":1}"#), Self.now)
        #expect(account == login.account)
        #expect(ended.hasEnded(login))
        #expect(!ended.hasEnded(Login(login.account, Secret("x"), at: Self.begun)))
        _ = try ended.receive(
            signedOut("anna", #"{"before":\#(Self.begun.seconds),"logins":[],"revision":2}"#), Self.now)
        #expect(ended.hasEnded(login))
        #expect(!ended.hasEnded(Login(login.account, Secret("x"), at: Self.begun + 0.001)))
        let operators = Login(.operators, Secret("x"), at: Self.begun)
        _ = try ended.receive(signedOut("_operator", #"{"before":9e9,"logins":[],"revision":1}"#), Self.now)
        #expect(ended.hasEnded(operators))
    }

    @Test func `an older message brings no login back, and a cleared topic neither`() throws {
        var ended = EndedLogins()
        _ = try ended.receive(signedOut("anna", #"{"logins":[{"id":"\#(login.id)","at":1}],"revision":5}"#), Self.now)
        for payload in [#"{"logins":[],"revision":4}"#, #"{"logins":[],"revision":5}"#, ""] {
            #expect(try ended.receive(signedOut("anna", payload), Self.now) == nil)
            #expect(ended.hasEnded(login))
        }
    }

    @Test func `nothing is known before the retained messages and session-engine are there`() throws {
        var ended = EndedLogins()
        ended.receivedRetained()
        ended.tick(Self.now)
        #expect(!ended.isComplete)
        _ = try ended.receive(message(Self.engine, #"{"status":"online","at":1}"#), Self.now)
        ended.tick(Self.now)
        #expect(ended.isComplete)
        _ = try ended.receive(message(Self.engine, #"{"status":"offline","at":2}"#), Self.now)
        ended.tick(Self.now + 100)
        #expect(ended.isComplete, "it stays known")

        var other = EndedLogins()
        _ = try other.receive(message(Self.engine, #"{"status":"online","at":1}"#), Self.now)
        other.tick(Self.now)
        #expect(!other.isComplete, "the retained messages may be on their way")
        other.receivedRetained()
        other.tick(Self.now + 61)
        #expect(!other.isComplete, "its presence was not renewed")
    }

    @Test func `the broker's plugin says who only watches others`() throws {
        var ended = EndedLogins()
        let coach = try #require(User("coach"))
        _ = try ended.receive(message("$SYS/pacebus/accounts/coach", #"{"users":["anna"],"viewer":true}"#), Self.now)
        #expect(ended.isViewer(coach) && !ended.isViewer(login.account) && !ended.isViewer(.operators))
        _ = try ended.receive(message("$SYS/pacebus/accounts/coach", #"{"users":["coach"],"viewer":false}"#), Self.now)
        #expect(!ended.isViewer(coach))
    }

    @Test(arguments: ["{", "[]", #"{"logins":1,"revision":1}"#, #"{"logins":[]}"#])
    func `a payload that cannot be read changes nothing`(payload: String) throws {
        var ended = EndedLogins()
        _ = try ended.receive(signedOut("anna", #"{"logins":[{"id":"\#(login.id)","at":1}],"revision":5}"#), Self.now)
        #expect(throws: PayloadError.self) { try ended.receive(signedOut("anna", payload), Self.now) }
        #expect(ended.hasEnded(login))
    }
}
