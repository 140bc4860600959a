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

    @Test func `without a connection every message is refused at once`() {
        var window = PublishWindow()
        #expect(isRefused(window.submit(messages(1), id: 1, goal: .confirmation)))
        #expect(window.isIdle)
    }

    @Test func `unconfirmed messages never exceed the window`() throws {
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

    @Test func `a publish completes with its confirmation`() throws {
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

    @Test func `a canceled message in the connection keeps its place`() throws {
        var window = window(1)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 1)
        window.canceled(1)
        _ = window.submit(messages(1), id: 2, goal: .confirmation)
        #expect(isExhausted(&window))
        _ = window.confirmed(1)
        #expect(try take(&window).id == 2)
    }

    @Test func `a canceled message that is still pending is never sent`() throws {
        var window = window(1)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        window.canceled(1)
        #expect(isExhausted(&window))
        #expect(window.isIdle)
    }

    @Test func `a loss separates unsent messages from those with an unknown outcome`() throws {
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

    @Test(arguments: 0..<3) func `a message that the connection does not accept is dropped alone`(bad: Int) throws {
        var window = window(10)
        _ = window.submit(messages(3), id: 1, goal: .handover)
        for number in 0..<3 {
            let next = try take(&window)
            #expect(next.message.topic == "t/\(number)")
            let completion =
                number == bad ? window.failed(next, .invalid("test")) : window.handedOver(next, as: Int32(number))
            #expect(completion?.id == (number == 2 ? 1 : nil))
            if number == 2 { #expect(throws: Never.self) { try completion?.result.get() } }
        }
        #expect(isExhausted(&window))
    }

    @Test func `a publish that the connection does not accept throws`() throws {
        var window = window(10)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        let completion = window.failed(try take(&window), .invalid("test"))
        #expect(throws: MQTTError.invalid("test")) { try completion?.result.get() }
        #expect(completion?.id == 1)
        #expect(window.isIdle)
    }

    private func released(_ window: inout PublishWindow) -> [PublishWindow.ID]? {
        guard case .complete(let completions) = window.release() else { return nil }
        return completions.map(\.id)
    }

    @Test func `a released sender returns and its messages are still sent`() throws {
        var window = window(1)
        _ = window.submit(messages(3), id: 1, goal: .handover)
        _ = window.handedOver(try take(&window), as: 1)
        #expect(released(&window) == [1])
        #expect(released(&window) == [])
        // Its task was canceled after the call succeeded.
        window.canceled(1)
        for packet in 1...2 as ClosedRange<Int32> {
            _ = window.confirmed(packet)
            let next = try take(&window)
            #expect(next.message.topic == "t/\(packet)")
            let completion = window.handedOver(next, as: packet + 1)
            #expect(completion == nil)
        }
        #expect(isExhausted(&window))
    }

    @Test func `an awaited publish is not released`() throws {
        var window = window(1)
        _ = window.submit(messages(1), id: 1, goal: .confirmation)
        _ = window.submit(messages(1), id: 2, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 1)
        #expect(released(&window) == [])
    }

    @Test func `a single submission of any size is released and the next one waits for space`() throws {
        var window = PublishWindow(backlogLimit: 1_000)
        window.connected(capacity: 100)
        _ = window.submit(messages(100), id: 1, goal: .handover)
        #expect(released(&window) == [1])
        _ = window.submit(messages(1), id: 2, goal: .handover)
        #expect(released(&window) == nil)
        for packet in 0..<95 as Range<Int32> { _ = window.handedOver(try take(&window), as: packet) }
        #expect(released(&window) == [2])
        _ = window.disconnected(.notConnected)
        window.connected(capacity: 100)
        _ = window.submit(messages(1), id: 3, goal: .handover)
        #expect(released(&window) == [3])
    }

    @Test func `pending messages and awaited confirmations are backpressure`() throws {
        var window = window(1)
        _ = window.submit(messages(2), id: 1, goal: .handover)
        _ = window.handedOver(try take(&window), as: 1)
        #expect(window.isUnderBackpressure)
        _ = window.confirmed(1)
        _ = window.handedOver(try take(&window), as: 2)
        #expect(!window.isUnderBackpressure)
        _ = window.confirmed(2)
        _ = window.submit(messages(1), id: 2, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 3)
        #expect(window.isUnderBackpressure)
        _ = window.confirmed(3)
        #expect(!window.isUnderBackpressure)
        _ = window.submit(messages(1), id: 3, goal: .confirmation)
        _ = window.handedOver(try take(&window), as: 4)
        _ = window.disconnected(.notConnected)
        #expect(!window.isUnderBackpressure)
    }
}
