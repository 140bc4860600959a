import Foundation
import TestSupport
import Testing
import Workouts

@Suite struct TimestampTests {
    @Test func `every microsecond survives JSON`() throws {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let time = Timestamp(microseconds: .random(in: 946_684_800_000_000...4_102_444_800_000_000, using: &random))
            let decoded = try JSONDecoder().decode([Timestamp].self, from: JSONEncoder().encode([time]))
            #expect(decoded == [time])
        }
    }

    @Test(arguments: [.infinity, -.infinity, 1e300, -1e300, .nan] as [Double])
    func `any number becomes a time whose difference to any other fits`(seconds: Double) {
        let time = Timestamp(seconds: seconds)
        for other in [1e300, -1e300, 0] { _ = time.seconds(since: Timestamp(seconds: other)) }
        #expect(time.seconds.magnitude <= 4e12)
    }

    @Test func `half microseconds are rounded and durations are exact`() {
        #expect(Timestamp(seconds: 0.0000015).microseconds == 2)
        let time = Timestamp(microseconds: 1_500_000)
        #expect(time.advanced(by: .milliseconds(250)).microseconds == 1_750_000)
        #expect(time.duration(to: Timestamp(microseconds: 500_000)) == .seconds(-1))
        #expect(time.milliseconds == 1_500)
    }

    @Test func `times from 2000 to one day ahead are accepted`() {
        let accepted = AcceptedTimes(now: year2026)
        #expect(accepted.contains(Timestamp(microseconds: 946_684_800_000_000)))
        #expect(!accepted.contains(Timestamp(microseconds: 946_684_799_999_999)))
        #expect(accepted.contains(year2026 + 86_400))
        #expect(!accepted.contains(year2026 + 86_400.001))
    }

    @Test func `a clock before 2000 does not trap`() {
        #expect(!AcceptedTimes(now: Timestamp(microseconds: 0)).contains(year2026))
    }
}
