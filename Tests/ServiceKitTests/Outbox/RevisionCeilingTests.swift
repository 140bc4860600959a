import ServiceKit
import TestSupport
import Testing
import Workouts

struct RevisionCeilingTests {
    @Test(arguments: [RevisionCeiling.lead, 16_000] as [Int64])
    func `over any hand-overs revisions rise, stay below what is stored, and that is not far ahead`(lead: Int64) {
        var random = SeededRandom()
        var now = Timestamp(seconds: 1_700_000_000)
        var (stored, highest): (Int64, Int64) = (0, 0)
        for _ in 0..<300 {
            // An owner knows of the one before what is stored.
            var latest = stored
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                if let due = RevisionCeiling.due(stored, latest: latest, now: now, lead: lead) { stored = due }
                #expect(stored <= now.milliseconds + lead + 1_000)
                for _ in 0..<Int.random(in: 1...30, using: &random) {
                    latest = max(latest + 1, now.milliseconds)
                    #expect(latest > highest && latest <= stored)
                    highest = latest
                }
                now = now + Double.random(in: 0.05...1, using: &random)
            }
            now = now + Double.random(in: 0...0.2, using: &random)
        }
    }

    @Test func `behind an earlier owner's clock revisions rise by one`() {
        let now = Timestamp(seconds: 1_700_000_000)
        let stored = now.milliseconds + 3_600_000
        let due = RevisionCeiling.due(stored, latest: stored, now: now)
        #expect(due.map { $0 > stored && $0 < stored + 1_000 } == true)
    }
}
