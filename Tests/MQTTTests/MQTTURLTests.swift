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

    @Test func `several brokers are separated by commas, in their order`() throws {
        let url = try MQTTURL("mqtts://_engine:a,b@one,two:1884,[::1]/")
        #expect(url.host == "one" && url.port == 8883 && url.user == "_engine" && url.password?.value == "a,b")
        #expect(url.otherPartitions.map(\.host) == ["two", "::1"] && url.otherPartitions.map(\.port) == [1884, 8883])
        var configuration = MQTTConfiguration(clientID: "engine")
        (configuration.host, configuration.port, configuration.otherPartitions) = (
            url.host, url.port, url.otherPartitions
        )
        #expect(configuration.partitions.map(\.host) == ["one", "two", "::1"])
        #expect(configuration.partitions.map(\.clientID) == ["engine", "engine-2", "engine-3"])
        #expect(configuration.partitions.allSatisfy { $0.otherPartitions.isEmpty })
    }

    @Test(arguments: [
        ("", MQTTURL.Problem.scheme), ("broker:1883", .scheme), ("http://broker", .scheme), ("mqtt:broker", .scheme),
        ("mqtt://", .host), ("mqtt://:1883", .host), ("mqtt://broker:0", .port), ("mqtt://broker:70000", .port),
        ("mqtt://broker/path", .extra), ("mqtt://broker?a=b", .extra), ("mqtt://bro ker", .syntax),
        ("mqtt://broker:port", .syntax), ("mqtt://one,", .host), ("mqtt://one,,two", .host),
        ("mqtt://one/x,two", .extra),
        ("mqtt://one:1,two:1,one:1", .brokers), ("mqtt://one,two:70000", .port),
        ("mqtt://" + (1...10).map { "b\($0)" }.joined(separator: ","), .brokers),
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
