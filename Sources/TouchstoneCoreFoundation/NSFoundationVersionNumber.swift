/// The version of Foundation: larger than that of every system that has a constant below.
///
/// So what a program does for the newest system is done here. It is not a version of Apple: compare it, and nothing else.
public var NSFoundationVersionNumber: Double { 10_000 }

// The newest constants are those of iOS 9 and OS X 10.11: for later systems Apple has `#available`, and gives no more.

/// That of OS X 10.6.
public var NSFoundationVersionNumber10_6: Double { 751 }
/// That of OS X 10.6.1.
public var NSFoundationVersionNumber10_6_1: Double { 751 }
/// That of OS X 10.6.2.
public var NSFoundationVersionNumber10_6_2: Double { 751.14 }
/// That of OS X 10.6.3.
public var NSFoundationVersionNumber10_6_3: Double { 751.21 }
/// That of OS X 10.6.4.
public var NSFoundationVersionNumber10_6_4: Double { 751.29 }
/// That of OS X 10.6.5.
public var NSFoundationVersionNumber10_6_5: Double { 751.42 }
/// That of OS X 10.6.6.
public var NSFoundationVersionNumber10_6_6: Double { 751.53 }
/// That of OS X 10.6.7.
public var NSFoundationVersionNumber10_6_7: Double { 751.53 }
/// That of OS X 10.6.8.
public var NSFoundationVersionNumber10_6_8: Double { 751.62 }
/// That of OS X 10.7.
public var NSFoundationVersionNumber10_7: Double { 833.1 }
/// That of OS X 10.7.1.
public var NSFoundationVersionNumber10_7_1: Double { 833.1 }
/// That of OS X 10.7.2.
public var NSFoundationVersionNumber10_7_2: Double { 833.2 }
/// That of OS X 10.7.3.
public var NSFoundationVersionNumber10_7_3: Double { 833.24 }
/// That of OS X 10.7.4.
public var NSFoundationVersionNumber10_7_4: Double { 833.25 }
/// That of OS X 10.8.
public var NSFoundationVersionNumber10_8: Double { 945 }
/// That of OS X 10.8.1.
public var NSFoundationVersionNumber10_8_1: Double { 945 }
/// That of OS X 10.8.2.
public var NSFoundationVersionNumber10_8_2: Double { 945.11 }
/// That of OS X 10.8.3.
public var NSFoundationVersionNumber10_8_3: Double { 945.16 }
/// That of OS X 10.8.4.
public var NSFoundationVersionNumber10_8_4: Double { 945.18 }
/// That of OS X 10.9.
public var NSFoundationVersionNumber10_9: Double { 1056 }
/// That of OS X 10.9.1.
public var NSFoundationVersionNumber10_9_1: Double { 1056 }
/// That of OS X 10.9.2.
public var NSFoundationVersionNumber10_9_2: Double { 1056.13 }
/// That of OS X 10.10.
public var NSFoundationVersionNumber10_10: Double { 1151.16 }
/// That of OS X 10.10.1.
public var NSFoundationVersionNumber10_10_1: Double { 1151.16 }
/// That of OS X 10.10.2.
public var NSFoundationVersionNumber10_10_2: Double { 1152.14 }
/// That of OS X 10.10.3.
public var NSFoundationVersionNumber10_10_3: Double { 1153.2 }
/// That of OS X 10.10.4.
public var NSFoundationVersionNumber10_10_4: Double { 1153.2 }
/// That of OS X 10.10.5.
public var NSFoundationVersionNumber10_10_5: Double { 1154 }
/// Not less than that of any OS X 10.10.
public var NSFoundationVersionNumber10_10_Max: Double { 1199 }
/// That of OS X 10.11.
public var NSFoundationVersionNumber10_11: Double { 1252 }
/// That of OS X 10.11.1.
public var NSFoundationVersionNumber10_11_1: Double { 1255.1 }
/// That of OS X 10.11.2.
public var NSFoundationVersionNumber10_11_2: Double { 1256.1 }
/// That of OS X 10.11.3.
public var NSFoundationVersionNumber10_11_3: Double { 1256.1 }
/// That of OS X 10.11.4.
public var NSFoundationVersionNumber10_11_4: Double { 1258 }
/// Not less than that of any OS X 10.11.
public var NSFoundationVersionNumber10_11_Max: Double { 1299 }
/// That of iPhone OS 2.0.
public var NSFoundationVersionNumber_iPhoneOS_2_0: Double { 678.24 }
/// That of iPhone OS 2.1.
public var NSFoundationVersionNumber_iPhoneOS_2_1: Double { 678.26 }
/// That of iPhone OS 2.2.
public var NSFoundationVersionNumber_iPhoneOS_2_2: Double { 678.29 }
/// That of iPhone OS 3.0.
public var NSFoundationVersionNumber_iPhoneOS_3_0: Double { 678.47 }
/// That of iPhone OS 3.1.
public var NSFoundationVersionNumber_iPhoneOS_3_1: Double { 678.51 }
/// That of iPhone OS 3.2.
public var NSFoundationVersionNumber_iPhoneOS_3_2: Double { 678.6 }
/// That of iOS 4.0.
public var NSFoundationVersionNumber_iOS_4_0: Double { 751.32 }
/// That of iOS 4.1.
public var NSFoundationVersionNumber_iOS_4_1: Double { 751.37 }
/// That of iOS 4.2.
public var NSFoundationVersionNumber_iOS_4_2: Double { 751.49 }
/// That of iOS 4.3.
public var NSFoundationVersionNumber_iOS_4_3: Double { 751.49 }
/// That of iOS 5.0.
public var NSFoundationVersionNumber_iOS_5_0: Double { 881 }
/// That of iOS 5.1.
public var NSFoundationVersionNumber_iOS_5_1: Double { 890.1 }
/// That of iOS 6.0.
public var NSFoundationVersionNumber_iOS_6_0: Double { 992 }
/// That of iOS 6.1.
public var NSFoundationVersionNumber_iOS_6_1: Double { 993 }
/// That of iOS 7.0.
public var NSFoundationVersionNumber_iOS_7_0: Double { 1047.2 }
/// That of iOS 7.1.
public var NSFoundationVersionNumber_iOS_7_1: Double { 1047.25 }
/// That of iOS 8.0.
public var NSFoundationVersionNumber_iOS_8_0: Double { 1140.11 }
/// That of iOS 8.1.
public var NSFoundationVersionNumber_iOS_8_1: Double { 1141.1 }
/// That of iOS 8.2.
public var NSFoundationVersionNumber_iOS_8_2: Double { 1142.14 }
/// That of iOS 8.3.
public var NSFoundationVersionNumber_iOS_8_3: Double { 1144.17 }
/// That of iOS 8.4.
public var NSFoundationVersionNumber_iOS_8_4: Double { 1144.17 }
/// Not less than that of any iOS 8.
public var NSFoundationVersionNumber_iOS_8_x_Max: Double { 1199 }
/// That of iOS 9.0.
public var NSFoundationVersionNumber_iOS_9_0: Double { 1240.1 }
/// That of iOS 9.1.
public var NSFoundationVersionNumber_iOS_9_1: Double { 1241.14 }
/// That of iOS 9.2.
public var NSFoundationVersionNumber_iOS_9_2: Double { 1242.12 }
/// That of iOS 9.3.
public var NSFoundationVersionNumber_iOS_9_3: Double { 1242.12 }
/// That of iOS 9.4.
public var NSFoundationVersionNumber_iOS_9_4: Double { 1280.25 }
/// Not less than that of any iOS 9.
public var NSFoundationVersionNumber_iOS_9_x_Max: Double { 1299 }
