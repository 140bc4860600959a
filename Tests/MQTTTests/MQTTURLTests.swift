import Testing

@testable import MQTT

@Suite struct MQTTURLTests {
    @Test func `the default ports are 1883 and 8883 for TLS`() throws {
        let plain = try MQTTURL("mqtt://broker")
        #expect(plain.host == "broker" && plain.port == 1883 && !plain.isTLS)
        #expect(plain.user == nil && plain.password == nil)
        let tls = try MQTTURL("mqtts://broker/")
        #expect(tls.port == 8883 && tls.isTLS)
    }

    @Test func `user and password are decoded`() throws {
        let url = try MQTTURL("MQTT://_engine:p%40ss%2Fw@127.0.0.1:18830")
        #expect(url.host == "127.0.0.1" && url.port == 18830)
        #expect(url.user == "_engine" && url.password?.value == "p@ss/w")
    }

    @Test func `an IPv6 address loses its brackets`() throws {
        #expect(try MQTTURL("mqtt://[::1]:1884").host == "::1")
    }

    @Test(arguments: [
        ("", MQTTURL.Problem.scheme), ("broker:1883", .scheme), ("http://broker", .scheme), ("mqtt:broker", .scheme),
        ("mqtt://", .host), ("mqtt://:1883", .host), ("mqtt://broker:0", .port), ("mqtt://broker:70000", .port),
        ("mqtt://broker/path", .extra), ("mqtt://broker?a=b", .extra), ("mqtt://bro ker", .syntax),
        ("mqtt://broker:port", .syntax),
    ])
    func `an invalid URL is refused with its problem`(string: String, problem: MQTTURL.Problem) {
        #expect(throws: problem) { try MQTTURL(string) }
    }

    @Test func `a secret is never printed`() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        let url = try? MQTTURL("mqtt://u:hunter2@h")
        for text in ["\(secret)", String(reflecting: secret), dumped, "\(String(describing: url))"] {
            #expect(!text.contains("hunter2"))
        }
        #expect(url?.password?.value == "hunter2")
    }
}
