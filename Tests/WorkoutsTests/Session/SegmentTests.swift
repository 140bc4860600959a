import TestSupport
import Testing

@testable import Workouts

@Suite struct SegmentTests {
    private let segments = [segment(0, 10), segment(10, 20), segment(30, nil)]

    @Test(arguments: [(-1, nil), (0, 0), (10, 10), (20, 10), (25, nil), (30, 30), (1e6, 30)] as [(Double, Double?)])
    func `a moment on a border belongs to the later segment`(moment: Double, start: Double?) {
        #expect(segments.segment(containing: year2026 + moment)?.start == start.map { year2026 + $0 })
    }

    @Test func `active duration includes the open segment`() {
        #expect(segments.activeDuration() == 20)
        #expect(segments.activeDuration(at: year2026 + 35) == 25)
        #expect(segments.activeDuration(at: year2026 + 25) == 20)
        #expect(segments.activeDuration(at: year2026 + 5) == 5)
        #expect(segments.activeDuration(at: year2026 - 5) == 0)
    }

    @Test func `the timeline equals a linear walk over the segments`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let segments = random.segments()
            let timeline = ActiveTimeline(segments + [Segment(start: segments.last!.end! + 1, end: nil)])
            #expect(Double(timeline.total) / 1e6 == segments.activeDuration())
            for _ in 0..<20 {
                let moment = year2026 + Double.random(in: -50...2_000, using: &random)
                let isInside = segments.contains { $0.contains(moment) }
                #expect((timeline.place(moment) != nil) == isInside)
                #expect(Double(timeline.position(moment)) / 1e6 == segments.activeDuration(at: moment))
            }
        }
    }
}
