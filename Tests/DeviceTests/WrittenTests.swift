import Testing

@testable import Device

@Suite struct WrittenTests {
    @Test func `values are written as people write them`() {
        #expect(Written.distance(732.76) == "733 m")
        #expect(Written.distance(4_922.7) == "4.92 km")
        #expect(Written.duration(59.6) == "1:00")
        #expect(Written.duration(1_440) == "24:00")
        #expect(Written.duration(6_254) == "1:44:14")
        #expect(Written.pace(345) == "5:45 /km")
        #expect(Written.heartRate(136.6) == "137 bpm")
    }
}
