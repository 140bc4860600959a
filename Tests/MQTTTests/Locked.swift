import Synchronization

/// A value shared by the tasks of a test.
final class Locked<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) {
        mutex = Mutex(value)
    }

    var value: Value { mutex.withLock { $0 } }

    func set(_ value: Value) {
        mutex.withLock { $0 = value }
    }

    /// Changes the value and returns the new one.
    @discardableResult
    func change(_ body: (inout Value) -> Void) -> Value {
        mutex.withLock { value in
            body(&value)
            return value
        }
    }
}
