import ServiceKit
import Testing
import Workouts

@testable import Streams

struct RetentionTests {
    private let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-4011-b42d-00c04fc964ff")!)
    private let now = Moment(wallClock: Timestamp(seconds: 1_700_000_000), uptime: .seconds(100))

    @Test(arguments: ["\(Int64.min)", "\(Int64.max)", "-4000000000000000001"])
    func `a stored time out of range is that of a past or future publication`(text: String) {
        var retention = Retention()
        retention.load(key, Array(text.utf8), now)
        #expect(retention.stands(key))
        #expect(retention.changes(now).expired == (text.hasPrefix("-") ? [key] : []))
    }

    @Test(arguments: ["", "x", "9223372036854775808"])
    func `a stored time that is no number is none`(text: String) {
        var retention = Retention()
        retention.load(key, Array(text.utf8), now)
        #expect(!retention.stands(key))
    }
}
