import Testing

@testable import MQTT

@Suite struct PublishWindowTests {
    private func messages(_ count: Int) -> [MQTTMessage] {
        (0..<count).map { MQTTMessage(topic: "t/\($0)", payload: [], qos: .atLeastOnce) }
    }

    private func window(_ capacity: Int) -> PublishWindow {
        var window = PublishWindow()
        window.connected(capacity: capacity)
        return window
    }

    private struct Exhausted: Error {}

    private func take(_ window: inout PublishWindow) throws -> PublishWindow.Next {
        guard let next = window.next() else { throw Exhausted() }
        return next
    }

    private func isExhausted(_ window: inout PublishWindow) -> Bool {
        window.next() == nil
    }

    private func isRefused(_ action: PublishWindow.SubmitAction) -> Bool {
        if case .refuse(.notConnected) = action { true } else { false }
    }

    @Test func `without a connection everything is refused at once`() {
        var window = PublishWindow()
        #expect(isRefused(window.submit(messages(1), id: 1, goal: .confirmation)))
        #expect(window.isIdle)
    }

    @Test func `no more messages go out than the window holds`() throws {
        var window = window(2)
        _ = window.submit(messages(3), id: 1, goal: .handover)
        for packet in 1...2 as ClosedRange<Int32> {
            let next = try take(&window)
            let completion = window.handedOver(next, as: packet)
            #expect(completion == nil)
        }
        #expect(isExhausted(&window))
        _ = window.confirmed(1)
        let last = try take(&window)
        #expect(last.message.topic == "t/2")
        let completion = window.handedOver(last, as: 3)
        #expect(completion?.id == 1)
    }

    @Test func `a publish is complete with its confirmation`() throws {
        var window = window(10)
        _ = window.submit(messages(1), id: 7, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 4)
        guard case .complete(7) = window.confirmed(4) else {
            Issue.record("not complete")
            return
        }
        #expect(window.isIdle)
    }

    @Test func `a repeated confirmation is ignored`() throws {
        var window = window(10)
        _ = window.submit(messages(1), id: 7, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 4)
        _ = window.confirmed(4)
        guard case .none = window.confirmed(4) else {
            Issue.record("confirmed twice")
            return
        }
    }

    @Test func `a cancelled message that was handed over keeps its place`() throws {
        var window = window(1)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 1)
        window.cancelled(1)
        _ = window.submit(messages(1), id: 2, goal: .confirmation)
        #expect(isExhausted(&window))
        _ = window.confirmed(1)
        #expect(try take(&window).id == 2)
    }

    @Test func `a cancelled message that still waits is never sent`() throws {
        var window = window(1)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        window.cancelled(1)
        #expect(isExhausted(&window))
        #expect(window.isIdle)
    }

    @Test func `a loss tells what was certainly not sent from what may have been`() throws {
        var window = window(2)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        _ = window.submit(messages(2), id: 2, goal: .handover)
        _ = window.submit(messages(1), id: 3, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 1)
        _ = window.handedOver(try take(&window), as: 2)
        let lost = MQTTError.connectionLost("test")
        let results = window.disconnected(lost).reduce(into: [:]) { $0[$1.id] = $1.result }
        #expect(results.count == 3)
        #expect(throws: lost) { try results[1]?.get() }
        #expect(throws: lost) { try results[2]?.get() }
        #expect(throws: MQTTError.notConnected) { try results[3]?.get() }
        #expect(!window.isConnected && window.isIdle)
    }

    @Test func `a message that the library does not take drops the rest of its submission`() throws {
        var window = window(10)
        _ = window.submit(messages(3), id: 1, goal: .handover)
        let completion = window.failed(try take(&window), .invalid("test"))
        #expect(completion.id == 1)
        #expect(isExhausted(&window))
    }
}
