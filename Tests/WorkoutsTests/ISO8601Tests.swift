import Testing
import Workouts

@Suite struct ISO8601Tests {
    @Test(arguments: [
        ("2014-01-16T18:48:44.340Z", 1_389_898_124.34), ("2014-01-16T18:48:44Z", 1_389_898_124),
        ("2014-01-16T19:48:44+01:00", 1_389_898_124), ("2014-01-16T13:18:44-0530", 1_389_898_124),
        ("2014-01-16T18:48:44", 1_389_898_124), ("2000-02-29T00:00:00Z", 951_782_400),
        ("2014-01-16T18:48:44.3400004Z", 1_389_898_124.34), ("1969-12-31T23:59:59.5Z", -0.5),
    ])
    func `a time is read`(text: String, seconds: Double) {
        #expect(Timestamp(iso8601: text) == Timestamp(seconds: seconds))
    }

    @Test(arguments: [
        "", "now", "2014-01-16", "2014-13-16T18:48:44Z", "2014-01-16T24:48:44Z", "2014-01-16T18:48:44ZZ",
        "2014-01-16T18:48:44+1Z", "２014-01-16T18:48:44Z", "2014-01-16T18:48:44.Z+",
    ])
    func `anything else is none`(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }
}
