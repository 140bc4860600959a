import ServiceKit
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct InboxTests {
    private let inbox = Inbox<Int>()

    @Test func `a wait returns at once when its condition is met, and takes nothing`() async {
        inbox.add(1)
        await inbox.wait { $0 == [1] }
        #expect(inbox.take() == [1] && inbox.take() == [])
    }

    @Test func `a wait returns with the item that meets its condition`() async {
        let checks = Mutex(0)
        async let waiting: Void = inbox.wait { items in
            checks.withLock { $0 += 1 }
            return items.count == 3
        }
        #expect(await eventually { checks.withLock(\.self) == 1 })
        for item in 1...3 { inbox.add(item) }
        await waiting
        inbox.add(4)
        #expect(checks.withLock(\.self) == 4)
        #expect(inbox.take() == [1, 2, 3, 4])
    }

    @Test func `a canceled wait returns, before it begins and after`() async {
        for isEarly in [true, false] {
            let isWaiting = Mutex(false)
            let task = Task {
                if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
                await inbox.wait { _ in
                    isWaiting.withLock { $0 = true }
                    return false
                }
            }
            if !isEarly { #expect(await eventually { isWaiting.withLock(\.self) }) }
            task.cancel()
            await task.value
            inbox.add(1)
        }
        #expect(inbox.take() == [1, 1])
    }
}
