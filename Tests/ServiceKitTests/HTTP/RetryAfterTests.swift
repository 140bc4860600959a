import ServiceKit
import Testing
import Workouts

struct RetryAfterTests {
    @Test func `a Retry-After is seconds or a date`() {
        #expect(RetryAfter("120") == .seconds(120))
        #expect(RetryAfter("Sun, 06 Nov 1994 08:49:37 GMT") == .date(Timestamp(seconds: 784_111_777)))
        for nonsense in [
            "", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT", "1e3",
        ] {
            #expect(RetryAfter(nonsense) == nil, "\(nonsense)")
        }
        #expect(RetryAfter.date(Timestamp(seconds: 10)).seconds(from: Timestamp(seconds: 30)) == 0)
    }
}
