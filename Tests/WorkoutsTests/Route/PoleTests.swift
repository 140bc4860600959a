import Testing
import Workouts

struct PoleTests {
    @Test(arguments: [90.0, -90, 89.999_999])
    func `hours of fixes around a pole do not trap`(latitude: Double) throws {
        let start = Timestamp(seconds: 1_700_000_000)
        let count = 20_000
        let fixes = (0..<count).map { second in
            let longitude = Double(second * 120 % 360) - 180
            return Location(time: start + Double(second), latitude: latitude, longitude: longitude)
        }
        let watch = try #require(Device("watch"))
        let segments = [Segment(start: start, end: start + Double(count))]
        let counted = CountedLocations(
            streams: [watch: fixes], segments: segments, activity: .running, environment: .outdoor)
        #expect(try #require(counted.summary().distance) < 1_000)
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(fixes, from: watch, segments: segments, now: start + Double(count))
        #expect(live.newest == fixes.last?.time)
    }
}
