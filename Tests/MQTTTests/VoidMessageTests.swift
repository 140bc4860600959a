import Synchronization
import TestSupport
import Testing

@testable import MQTT

/// Messages that become void while they wait for the socket, such as those of a lost shard.
@Suite struct VoidMessageTests {
    private func messages(_ count: Int) -> [MQTTMessage] {
        (0..<count).map { MQTTMessage(topic: "t/\($0)", payload: [], qos: .atLeastOnce) }
    }

    private struct Exhausted: Error {}

    private func take(_ window: inout PublishWindow) throws -> PublishWindow.Next {
        guard let next = window.next() else { throw Exhausted() }
        return next
    }

    @Test func `each message is checked by its own index when its turn comes`() throws {
        var window = PublishWindow()
        window.connected(capacity: 2)
        let void = Mutex(Set<Int>())
        _ = window.submit(messages(4), id: 1, goal: .handover) { index in void.withLock { !$0.contains(index) } }
        var sent: [String] = []
        for packet in 1...2 as ClosedRange<Int32> {
            let next = try take(&window)
            #expect(next.check?.passes == true)
            sent.append(next.message.topic)
            _ = window.handedOver(next, as: packet)
        }
        void.withLock { $0 = [0, 2] }
        _ = window.confirmed(1)
        let dropped = try take(&window)
        #expect(dropped.check?.passes == false)
        #expect(window.dropped(dropped) == nil)
        let last = try take(&window)
        #expect(last.message.topic == "t/3" && last.check?.passes == true)
    }

    @Test func `a caller whose last message is void returns`() throws {
        var window = PublishWindow()
        window.connected(capacity: 2)
        _ = window.submit(messages(1), id: 9, goal: .handover) { _ in false }
        let next = try take(&window)
        #expect(window.dropped(next)?.id == 9)
        #expect(window.isIdle)
    }
}

/// The client against a real mosquitto that stops reading.
@Suite(.timeLimit(.minutes(60))) struct VoidMessageClientTests {
    private static let count = 200

    /// 50 MB, of which the sockets' buffers take at most about ten.
    private static let messages = (0..<count).map { index in
        let text = "\(index)"
        return MQTTMessage(
            topic: "t", payload: Array(text.utf8) + Array(repeating: 0x20, count: 250_000), qos: .atLeastOnce)
    }

    @Test func `messages that become void while the socket is full are never sent, and later ones are`() async throws {
        let broker = try await Mosquitto()
        let isVoid = Locked(false)
        try await withRunningClient(testConfiguration(port: broker.port)) { observer in
            try await withRunningClient(testConfiguration(port: broker.port)) { client in
                try await withRecorder(observer, ["t"]) { recorder in
                    try await expectEventually { client.isReady }
                    broker.freeze(true)
                    try await client.send(Self.messages) { _ in !isVoid.value }
                    isVoid.set(true)
                    broker.freeze(false)
                    try await expectEventually {
                        (try? await client.publish(MQTTMessage("t", "end"))) != nil
                    }
                    try await expectEventually { recorder.messages.last?.text == "end" }
                    #expect(recorder.messages.count < Self.count / 2)
                }
            }
        }
    }

    @Test func `a flush returns when everything is written`() async throws {
        let broker = try await Mosquitto()
        let isVoid = Locked(false)
        try await withRunningClient(testConfiguration(port: broker.port)) { observer in
            try await withRunningClient(testConfiguration(port: broker.port)) { client in
                try await withRecorder(observer, ["t"]) { recorder in
                    try await expectEventually { client.isReady }
                    let messages = (0..<Self.count).map { MQTTMessage("t", "\($0)") }
                    try await client.send(messages) { _ in !isVoid.value }
                    await client.flush()
                    isVoid.set(true)
                    try await expectEventually { recorder.messages.count == Self.count }
                }
            }
        }
    }

    @Test func `a flush without a connection returns`() async throws {
        let port = try LoopbackSocket.freePort()
        try await withRunningClient(testConfiguration(port: port)) { client in await client.flush() }
    }
}
